"""The tests' settings with the shortest lease, for the processes that tests start; more comes as JSON in an
environment variable, e.g. ``TEST_LOCQUEUE_WORKER='{"GRACE_SECONDS": 1}'``; so do options of the backend."""

import json
import os

from tests.settings import *  # noqa: F403
from tests.settings import DATABASES, LOCQUEUE, TASKS

LOCQUEUE = {
    **LOCQUEUE,
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
