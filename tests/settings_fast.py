"""The tests' settings with the shortest lease, for the workers that tests start; more comes as JSON in an environment
variable, e.g. ``TEST_LOCQUEUE_WORKER='{"GRACE_SECONDS": 1}'``; so do options of the backend."""

import json
import os

from tests.settings import *  # noqa: F403
from tests.settings import DATABASES, TASKS

# The queue alone: a fifth less to import for each process. Workers with tests.settings have all apps and pages.
INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes", "django_locqueue", "testproject.shop"]
MIDDLEWARE = []
ROOT_URLCONF = __name__
urlpatterns: list[object] = []

LOCQUEUE = {
    "WORKER": {
        "HEARTBEAT_SECONDS": 0.3,
        "LEASE_SECONDS": 1,
        "POLL_SECONDS": (0.02, 0.2),
        **json.loads(os.environ.get("TEST_LOCQUEUE_WORKER", "{}")),
    },
}
DEBUG = "TEST_DEBUG" in os.environ
TASKS["default"]["OPTIONS"] = json.loads(os.environ.get("TEST_LOCQUEUE_OPTIONS", "{}"))
if "TEST_SQLITE_DEFAULTS" in os.environ:
    DATABASES["default"]["OPTIONS"] = {}
