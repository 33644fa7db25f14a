"""The settings of fast workers, and as the access log's ``GEO`` what stands in ``TEST_GEO``, as JSON."""

import json
import os

from tests.settings_fast import *  # noqa: F403
from tests.settings_fast import INSTALLED_APPS, LOCQUEUE

INSTALLED_APPS = [*INSTALLED_APPS, "django_locqueue.accesslog"]
LOCQUEUE = {**LOCQUEUE, "ACCESS_LOG": {"ENABLED": False, "GEO": json.loads(os.environ["TEST_GEO"])}}
