"""Writes down what a person changes in admin: who, from where, and in which request."""

from typing import Any

from django_locqueue.origin import current_origin
from django_locqueue.store import get_store


def note(request: Any, verb: str, **what: Any) -> None:
    """``what``: as ``Store.record_activity`` takes it. The IP address is the connection's, which nobody can invent."""
    origin = current_origin.get()
    get_store().record_activity(
        verb,
        by=request.user.get_username(),
        source=request.META.get("REMOTE_ADDR") or "",
        request_id=str(origin.metadata.get("request_id", "")) if origin is not None else "",
        **what,
    )
