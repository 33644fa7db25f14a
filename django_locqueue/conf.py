"""Settings with their defaults beside them.

``LOCQUEUE`` is one dict with a group per concern; each group is a :class:`Section`, read lazily so that
``override_settings`` works. Options of a queue backend live in ``TASKS`` (see ``backend.py``). What is wrong with
either is reported by the system checks, never at import.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.conf import settings


class Section:
    """One group of ``LOCQUEUE``: ``worker.THREADS`` is the project's value, else the default beside it."""

    registry: ClassVar[dict[str, "Section"]] = {}

    def __init__(self, name: str, defaults: Mapping[str, Any]) -> None:
        self.name = name
        self.defaults = defaults
        self.registry[name] = self

    @property
    def given(self) -> Mapping[str, Any]:
        """What the project wrote, as it is: a wrong type is for the system checks to report."""
        group = getattr(settings, "LOCQUEUE", {})
        group = group.get(self.name, {}) if isinstance(group, Mapping) else {}
        return group if isinstance(group, Mapping) else {}

    def __getattr__(self, key: str) -> Any:
        if key not in self.defaults:
            raise AttributeError(f"LOCQUEUE[{self.name!r}] has no key {key!r}; it has {sorted(self.defaults)}")
        return self.given.get(key, self.defaults[key])


worker = Section(
    "WORKER",
    {
        "THREADS": 4,  # slots of one process
        "HEARTBEAT_SECONDS": 10,
        "LEASE_SECONDS": 30,  # after this long without a heartbeat the worker's tasks go to others
        "POLL_SECONDS": (0.1, 2),  # least (just after work) and most (when idle)
        "GRACE_SECONDS": 25,  # what running tasks get to finish after SIGTERM
        "STOPPED_WORKER_HOURS": 24,  # how long a stopped worker stays listed
    },
)

SMALLEST_LEASE_SECONDS = 1


def backend_database(backend_alias: str | None = None) -> str | None:
    """Return ``OPTIONS["DATABASE"]`` of the named backend of ``TASKS``, or of the first of ours; None if not set."""
    backends = getattr(settings, "TASKS", None) or {}
    if backend_alias is None:
        chosen = [b for b in backends.values() if "locqueue" in str(b.get("BACKEND", "")).lower()]
    else:
        chosen = [backends.get(backend_alias, {})]
    options = chosen[0].get("OPTIONS", {}) if chosen else {}
    # Anything else than a dict is for the system checks to report.
    return options.get("DATABASE") if isinstance(options, Mapping) else None
