"""The access log: a request leaves a line, and a worker finds where it came from."""

from django_locqueue.accesslog.decorators import access_log
from django_locqueue.accesslog.visit import request_id

__all__ = ["access_log", "request_id"]
