"""The fast settings of a project whose queue is on another alias, and whose reads the routers send to a replica.

The replica is an empty database without tables: what is asked there fails. TEST_ROUTER is the routers' class,
TEST_QUEUE_DATABASE the option `DATABASE`.
"""

import os
from typing import Any

from tests.settings_fast import *  # noqa: F403
from tests.settings_fast import DATABASES, TASKS

DATABASES["replica"] = {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}
DATABASE_ROUTERS = [f"tests.routers.{os.environ.get('TEST_ROUTER', 'ReadsFromReplica')}"]
if "TEST_QUEUE_DATABASE" in os.environ:
    options: Any = {"DATABASE": os.environ["TEST_QUEUE_DATABASE"]}
    TASKS["default"]["OPTIONS"] = options
