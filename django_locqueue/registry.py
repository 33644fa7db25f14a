"""Our backends, as ``TASKS`` names them. A worker serves the tasks of all that share its database."""

from typing import Any

from django_locqueue import compat, conf


def our_backend(alias: str) -> Any | None:
    """Return the backend of this alias; None if there is none (any more) or it is not ours."""
    return compat.task_backends[alias] if alias in conf.our_backends() else None


def our_backends() -> list[Any]:
    return [compat.task_backends[alias] for alias in conf.our_backends()]


def crash_limits() -> dict[str, int]:
    """Return ``MAX_CRASHES`` by alias: any worker rescues the tasks of every backend."""
    return {backend.alias: backend.max_crashes for backend in our_backends()}


def pending_limits() -> dict[str, int]:
    """Return ``MAX_PENDING`` by queue; the smallest, where several backends name it."""
    limits: dict[str, int] = {}
    for backend in our_backends():
        for queue_name, limit in backend.pending_limits.items():
            limits[queue_name] = min(limit.limit, limits.get(queue_name, limit.limit))
    return limits
