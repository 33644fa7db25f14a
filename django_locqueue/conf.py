"""Settings with their defaults beside them.

``LOCQUEUE`` is one dict with a group per concern; each group is a :class:`Section`, read lazily so that
``override_settings`` works. Options of a queue backend live in ``TASKS`` (see ``backend.py``). What is wrong with
either is reported by the system checks, never at import.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, ClassVar

from django.conf import settings
from django.utils.module_loading import import_string


class Section:
    """One group of ``LOCQUEUE``: ``worker.THREADS`` is the project's value, else the default beside it."""

    registry: ClassVar[dict[str, "Section"]] = {}

    def __init__(self, name: str, defaults: Mapping[str, Any], *, has_free_keys: bool = False) -> None:
        self.name = name
        self.defaults = defaults
        self.has_free_keys = has_free_keys  # names that the project gives
        self.registry[name] = self

    @property
    def given(self) -> Mapping[str, Any]:
        """What the project wrote, as it is: a wrong type is for the system checks to report."""
        group = getattr(settings, "LOCQUEUE", {})
        group = group.get(self.name, {}) if isinstance(group, Mapping) else {}
        return group if isinstance(group, Mapping) else {}

    def __getattr__(self, key: str) -> Any:
        if key not in self.defaults:
            raise AttributeError(f"{place('LOCQUEUE', self.name)} has no key {key!r}; it has {sorted(self.defaults)}")
        return self.given.get(key, self.defaults[key])


worker = Section(
    "WORKER",
    {
        "THREADS": 4,  # slots of one process; "2-16" or (2, 16): as many as the backlog needs
        "ASYNC_CONCURRENCY": 100,  # async tasks at once on the event loop of one process; 0: they run on threads
        "HEARTBEAT_SECONDS": 10,
        "LEASE_SECONDS": 30,  # after this long without a heartbeat the worker's tasks go to others
        "POLL_SECONDS": (0.1, 2),  # least (just after work) and most (when idle)
        "LISTEN": True,  # on PostgreSQL: tell idle workers of new tasks (LISTEN/NOTIFY). Polling goes on in any case
        "GRACE_SECONDS": 25,  # what running tasks get to finish after SIGTERM
        "TIMEOUT_GRACE_SECONDS": 5,  # after its timeout a task that does not end is given up, and its slot is replaced
        "CANCEL_GRACE_SECONDS": 5,  # what a task that takes a context gets to stop by itself before it is interrupted
        "UNKNOWN_TASK_SECONDS": 3600,  # so long a task waits for a worker that knows its definition; then it is failed
        "STOPPED_WORKER_HOURS": 24,  # how long a stopped worker stays listed
        "LOG_LINES": 50,  # of what a task logs, kept for its page: the last so many; 0: none
        "CODE_VERSION": "",  # of the project, e.g. its commit: the list of workers tells old ones from new
    },
)

admin = Section(
    "ADMIN",
    {
        "READ_ONLY": False,  # True, or a function of the request: nobody changes anything
        "MODEL_ADMIN_BASE": "django.contrib.admin.ModelAdmin",  # "unfold.admin.ModelAdmin" for that theme
        "AUTO_REGISTER": True,  # False: the project calls django_locqueue.admin.register(site) for its own site
        "COUNTS_SECONDS": 5,  # how old the counts of a page may be; 0: never
        "REFRESH": True,  # pages keep themselves up to date
        "KEYBOARD": True,  # pages can be used by keys
        "STATEMENT_SECONDS": 3,  # what a list's statement may take on PostgreSQL and MySQL
    },
)

monitoring = Section(
    "MONITORING",
    {
        "HEALTH_TOKEN": "",  # who sends it as a bearer sees whether all is well, and why not. Empty: there is none
        "METRICS_TOKEN": "",  # and who sends this one, the numbers too
        "MAX_WAIT_SECONDS": 60,  # that a ready task may wait, for the health view and queue_status
        "MAX_FAILED": 10,  # tasks that may fail in an hour
        "MIN_WORKERS": 1,  # that must be live
    },
)

# {name: {"task": path, "cron": "0 3 * * *" or "every": seconds, …}}; scheduler.defined has the keys
schedules = Section("SCHEDULES", {}, has_free_keys=True)

SMALLEST_LEASE_SECONDS = 1


def our_backends() -> dict[str, Mapping[str, Any]]:
    """Return the entries of ``TASKS`` whose backend is ours, by alias: :class:`LocQueueBackend` or a subclass.

    The one place that decides it. By class, whatever the path is called; and by a mark on the class, since what asks
    (models, the store) lies below the backend.
    """
    backends = getattr(settings, "TASKS", None)
    backends = backends if isinstance(backends, Mapping) else {}
    return {alias: each for alias, each in backends.items() if isinstance(each, Mapping) and _is_ours(each)}


def _is_ours(backend: Mapping[str, Any]) -> bool:
    try:
        return bool(getattr(import_string(backend.get("BACKEND", "")), "stores_in_locqueue", False))
    except Exception:
        return False  # Django says what is wrong with it to whoever uses it


def backend_database(backend_alias: str | None = None) -> str | None:
    """Return ``OPTIONS["DATABASE"]`` of the named backend, or of the first of ours; None if not set.

    A name that is no (longer a) backend of ours means the first as well: a row outlives the settings.
    """
    ours = our_backends()
    chosen = ours.get(backend_alias) if backend_alias is not None else None
    if chosen is None:
        chosen = next(iter(ours.values()), {})
    options = chosen.get("OPTIONS", {})
    # Anything else than a dict is for the system checks to report.
    return options.get("DATABASE") if isinstance(options, Mapping) else None


def place(setting: str, *keys: Any) -> str:
    """Return where something stands in the settings, as a person writes it: ``LOCQUEUE["WORKER"]``."""
    return setting + "".join(f'["{key}"]' for key in keys)


def did_you_mean(key: Any, known: Iterable[str]) -> str:
    """Return the end of a sentence that names an unknown key."""
    known = list(known)
    close = closest(key, known)
    return f"; did you mean {close!r}?" if close else f"; it has {', '.join(sorted(known))}."


def closest(key: Any, known: Iterable[str]) -> str | None:
    """Return the one that was meant, if any is like it."""
    known = list(known)
    close = get_close_matches(str(key), known, n=1) or get_close_matches(str(key).upper(), known, n=1)
    return close[0] if close else None
