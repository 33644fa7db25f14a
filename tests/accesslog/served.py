"""Settings and applications of the site that real servers serve in ``test_servers.py``."""

import json
import os
from typing import Any

from tests.settings import *  # noqa: F403

ROOT_URLCONF = "tests.accesslog.urls"
MIDDLEWARE = ["django_locqueue.accesslog.middleware.AccessLogMiddleware"]
# Unless a test says otherwise nothing is sent by time, so that what arrives was sent because the process ended; and
# that may take as long as it does on a busy machine.
LOCQUEUE = {
    "ACCESS_LOG": {"INTERVAL": 3600, "EXIT_TIMEOUT": 30, **json.loads(os.environ.get("TEST_ACCESS_LOG_KEYS", "{}"))}
}


def wsgi() -> Any:
    from django.core.wsgi import get_wsgi_application

    return get_wsgi_application()


def asgi() -> Any:
    from django.core.asgi import get_asgi_application

    application = get_asgi_application()

    from django_locqueue.accesslog.asgi import LifespanMiddleware

    return LifespanMiddleware(application)
