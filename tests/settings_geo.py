"""The tests' settings with the shortest lease, and with what is in ``TEST_GEO``, as JSON, as the access log's ``GEO``."""

import json
import os

from tests.settings_fast import *  # noqa: F403
from tests.settings_fast import LOCQUEUE

LOCQUEUE = {**LOCQUEUE, "ACCESS_LOG": {"ENABLED": False, "GEO": json.loads(os.environ["TEST_GEO"])}}
