"""The settings of fast workers, and as the access log's ``GEO`` what stands in ``TEST_GEO``, as JSON."""

import json
import os

from tests.settings_fast import *  # noqa: F403
from tests.settings_fast import LOCQUEUE

LOCQUEUE = {**LOCQUEUE, "ACCESS_LOG": {"ENABLED": False, "GEO": json.loads(os.environ["TEST_GEO"])}}
