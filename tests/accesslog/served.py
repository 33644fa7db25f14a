"""Settings and applications of the site that real servers serve in ``test_servers.py``."""

from typing import Any

from tests.settings import *  # noqa: F403

ROOT_URLCONF = "tests.accesslog.urls"
MIDDLEWARE = ["django_locqueue.accesslog.middleware.AccessLogMiddleware"]
# Nothing is sent by time, so that what arrives was sent because the process ended.
LOCQUEUE = {"ACCESS_LOG": {"INTERVAL": 3600}}


def wsgi() -> Any:
    from django.core.wsgi import get_wsgi_application

    return get_wsgi_application()


def asgi() -> Any:
    from django.core.asgi import get_asgi_application

    application = get_asgi_application()

    from django_locqueue.accesslog.asgi import LifespanMiddleware

    return LifespanMiddleware(application)
