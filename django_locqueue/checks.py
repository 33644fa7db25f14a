"""System checks: wrong configuration says what is wrong, and what to do, before anything runs."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from django.apps import apps
from django.conf import settings
from django.core import checks
from django.db import connections

from django_locqueue import compat, conf
from django_locqueue.backend import LocQueueBackend
from django_locqueue.conf import did_you_mean, place
from django_locqueue.policies.numbers import is_number, is_whole
from django_locqueue.registry import our_backends
from django_locqueue.worker.slots import MOST_ASYNC
from django_locqueue.worker.threads import EXPECTED, ThreadRange

ACCESS_LOG = "django_locqueue.accesslog"
ACCESS_LOG_MIDDLEWARE = f"{ACCESS_LOG}.middleware.AccessLogMiddleware"
SQLITE_OPTIONS = {"transaction_mode": "IMMEDIATE", "timeout": 20, "init_command": "PRAGMA journal_mode=WAL"}
SHORTEST_TOKEN = 16
MOST_LOG_LINES = 1_000  # they stand in the task's row, and are written once a second
MOST = 1_000_000  # threads, seconds or hours; a wait or a datetime cannot hold every finite number


class Kind(NamedTuple):
    """What the value of a key has to be. ``expected``: in words, behind "must be"."""

    id: str
    is_right: Callable[[Any], bool]
    expected: str
    hint: str | None = None
    is_secret: bool = False

    def errors(self, where: str, value: Any) -> Iterator[checks.CheckMessage]:
        if not self.is_right(value):
            got = "" if self.is_secret else f", got {value!r}"
            yield checks.Error(f"{where} must be {self.expected}{got}.", hint=self.hint, id=f"locqueue.{self.id}")


def _number(id: str, least: float = 0, hint: str | None = None) -> Kind:
    return Kind(id, lambda value: is_number(value, least, MOST), f"a number from {least} to {MOST:,}", hint)


def _whole(id: str, most: int, hint: str) -> Kind:
    return Kind(id, lambda value: is_whole(value, 0, most), f"a whole number from 0 to {most:,}", hint)


def _truth(id: str, hint: str | None = None) -> Kind:
    return Kind(id, lambda value: isinstance(value, bool), "True or False", hint)


def _is_range(value: Any) -> bool:
    try:
        ThreadRange.of(value)
    except ValueError:
        return False
    return True


def _is_poll(value: Any) -> bool:
    match value:
        case (least, most):
            return is_number(least, 0, MOST) and least > 0 and is_number(most, least, MOST)
    return False


def _is_token(value: Any) -> bool:
    # What is sent in a header is ASCII, and spaces at its ends are lost.
    is_sendable = isinstance(value, str) and value.isascii() and value.isprintable() and " " not in value
    return is_sendable and (not value or len(value) >= SHORTEST_TOKEN)


_token = Kind(
    "E021",
    _is_token,
    f"{SHORTEST_TOKEN} or more visible ASCII characters",
    'Make one: python -c "import secrets; print(secrets.token_urlsafe())". Empty: there is none.',
    is_secret=True,
)

KINDS: Mapping[str, Mapping[str, Kind]] = {
    "WORKER": {
        "HEARTBEAT_SECONDS": _number("E013", 0.1),
        "LEASE_SECONDS": _number("E013", conf.SMALLEST_LEASE_SECONDS),
        "GRACE_SECONDS": _number("E013"),
        "TIMEOUT_GRACE_SECONDS": _number("E013"),
        "CANCEL_GRACE_SECONDS": _number("E013"),
        "UNKNOWN_TASK_SECONDS": _number("E013"),
        "STOPPED_WORKER_HOURS": _number("E013"),
        "THREADS": Kind(
            "E013", _is_range, EXPECTED, '4: always as many. "2-16" or (2, 16): 2, and up to 16 while tasks wait.'
        ),
        "ASYNC_CONCURRENCY": _whole(
            "E017",
            MOST_ASYNC,
            "The default is 100: so many async tasks at once on the event loop of a process. With 0 they run on "
            "threads like all others.",
        ),
        "LOG_LINES": _whole(
            "E022",
            MOST_LOG_LINES,
            "The default is 50: so many lines of what a task logs are kept with it. With 0 none are.",
        ),
        "CODE_VERSION": Kind(
            "E018",
            lambda value: isinstance(value, str),
            "a text",
            'An environment variable may be unset: os.environ.get("GIT_COMMIT", "").',
        ),
        "LISTEN": _truth("E019", "True, the default, tells idle workers of new tasks where the database can."),
        "POLL_SECONDS": Kind(
            "E014",
            _is_poll,
            "(least, most) seconds",
            "The default is (0.1, 2): a tenth of a second just after work, two seconds when idle.",
        ),
    },
    "ADMIN": {
        **dict.fromkeys(("AUTO_REGISTER", "REFRESH", "KEYBOARD"), _truth("E033")),
        "COUNTS_SECONDS": _number("E033"),
        "STATEMENT_SECONDS": _number("E033", 0.1),
        "READ_ONLY": Kind(
            "E033",
            lambda value: isinstance(value, bool) or callable(value),
            "True, False, or a function that takes the request",
            "A text is not imported: give the function itself.",
        ),
    },
    "MONITORING": {
        **{
            key: _number("E020", hint=f"The default is {conf.monitoring.defaults[key]}.")
            for key in ("MAX_WAIT_SECONDS", "MAX_FAILED", "MIN_WORKERS")
        },
        "HEALTH_TOKEN": _token,
        "METRICS_TOKEN": _token,
    },
}


@checks.register
def check_settings(app_configs: Any = None, **kwargs: Any) -> Iterable[checks.CheckMessage]:
    """``LOCQUEUE``: known groups, known keys, sensible values."""
    given = getattr(settings, "LOCQUEUE", {})
    if not isinstance(given, Mapping):
        yield checks.Error(f"LOCQUEUE must be a dict, got {given!r}.", id="locqueue.E010")
        return
    for name, group in given.items():
        section = conf.Section.registry.get(name)
        if section is None:
            yield _unknown_group(name)
        elif not isinstance(group, Mapping):
            yield checks.Error(f"{place('LOCQUEUE', name)} must be a dict, got {group!r}.", id="locqueue.E010")
        elif not section.has_free_keys:
            for key in group.keys() - section.defaults.keys():
                yield checks.Error(
                    f"{place('LOCQUEUE', name)} has the unknown key {key!r}{did_you_mean(key, section.defaults)}",
                    id="locqueue.E012",
                )
    for name, kinds in KINDS.items():
        for key, kind in kinds.items():
            yield from kind.errors(place("LOCQUEUE", name, key), getattr(conf.Section.registry[name], key))
    yield from _check_worker()
    yield from _check_model_admin()


def _unknown_group(name: Any) -> checks.CheckMessage:
    if not apps.is_installed(ACCESS_LOG) and get_close_matches(str(name).upper(), ["ACCESS_LOG"]):
        return checks.Error(
            f"LOCQUEUE has the group {name!r}, but the app that reads it is not installed.",
            hint=f'Add "{ACCESS_LOG}" to INSTALLED_APPS; its group is "ACCESS_LOG".',
            id="locqueue.E011",
        )
    return checks.Error(
        f"LOCQUEUE has the unknown key {name!r}{did_you_mean(name, conf.Section.registry)}", id="locqueue.E011"
    )


def _check_worker() -> Iterable[checks.CheckMessage]:
    beat, lease = conf.worker.HEARTBEAT_SECONDS, conf.worker.LEASE_SECONDS
    if is_number(beat, 0, MOST) and is_number(lease, 0, beat):
        yield checks.Warning(
            f"{place('LOCQUEUE', 'WORKER', 'LEASE_SECONDS')} ({lease}) is not larger than HEARTBEAT_SECONDS ({beat}): "
            "a worker would be taken for dead between two beats. It beats every third of the lease instead.",
            hint="The defaults are 30 and 10. A lease of three beats survives one that is late.",
            id="locqueue.W002",
        )


def _check_model_admin() -> Iterable[checks.CheckMessage]:
    if not apps.is_installed("django.contrib.admin"):
        return
    from django_locqueue.admin.page_base import (
        model_admin_base,  # the pages, which a project without admin never loads
    )

    base = conf.admin.MODEL_ADMIN_BASE
    try:
        model_admin_base(base)
    except ValueError as error:
        yield checks.Error(
            f"{place('LOCQUEUE', 'ADMIN', 'MODEL_ADMIN_BASE')} must name a class of ModelAdmin, got {base!r}.",
            hint=f'{error} For django-unfold: "unfold.admin.ModelAdmin", and "unfold" in INSTALLED_APPS.',
            id="locqueue.E033",
        )


@checks.register
def check_backends(app_configs: Any = None, **kwargs: Any) -> Iterable[checks.CheckMessage]:
    """One of our backends is configured, and its database is one that we can use."""
    backends = our_backends()
    if not backends:
        yield checks.Warning(
            "django_locqueue is installed, but no entry of TASKS uses it, so tasks do not reach it.",
            hint='TASKS = {"default": {"BACKEND": "django_locqueue.backend.LocQueueBackend", "QUEUES": []}}',
            id="locqueue.W001",
        )
    for backend in backends:
        if not _database_exists(backend):
            yield checks.Error(
                f"{place('TASKS', backend.alias, 'OPTIONS', 'DATABASE')} is {backend.options['DATABASE']!r}, "
                "which is not in DATABASES.",
                hint=f"DATABASES has: {', '.join(connections)}.",
                id="locqueue.E006",
            )
        elif not compat.IS_DJANGO:  # from 6.0 on, Django itself asks every backend
            yield from backend.check()


@checks.register
def check_middleware(app_configs: Any = None, **kwargs: Any) -> Iterable[checks.CheckMessage]:
    """The access log's middleware comes with its app. Here, since the app's own checks run only if it is installed."""
    if ACCESS_LOG_MIDDLEWARE in settings.MIDDLEWARE and not apps.is_installed(ACCESS_LOG):
        yield checks.Error(
            f'MIDDLEWARE has AccessLogMiddleware, but "{ACCESS_LOG}" is not in INSTALLED_APPS, which records.',
            hint=f'Add "{ACCESS_LOG}" to INSTALLED_APPS and run migrate, or leave the middleware out.',
            id="locqueue.E008",
        )


@checks.register
def check_sqlite(app_configs: Any = None, **kwargs: Any) -> Iterable[checks.CheckMessage]:
    """With Django's defaults a transaction that reads first fails at its first write while another writes."""
    for alias in sorted({backend.database for backend in our_backends() if _database_exists(backend)}):
        settings_dict = connections[alias].settings_dict
        options = settings_dict.get("OPTIONS") or {}
        if settings_dict["ENGINE"].endswith(".sqlite3") and options.get("transaction_mode") != "IMMEDIATE":
            yield checks.Warning(
                f"The queue is in the SQLite database {alias!r}, whose transactions do not begin with the write lock: "
                'tasks and requests will meet "database is locked".',
                hint=f"Set {place('DATABASES', alias, 'OPTIONS')} to {SQLITE_OPTIONS}.",
                id="locqueue.W006",
            )


def _database_exists(backend: LocQueueBackend) -> bool:
    alias = conf.backend_database(backend.alias)
    return alias is None or alias in list(connections)


@checks.register(checks.Tags.database)
def check_database(app_configs: Any = None, databases: Any = None, **kwargs: Any) -> Iterable[checks.CheckMessage]:
    """The database can do what the store asks of it. Run by ``migrate`` and ``check --database``."""
    if not databases:
        return
    for alias in {backend.database for backend in our_backends() if _database_exists(backend)} & set(databases):
        connection: Any = connections[alias]
        connection.ensure_connection()
        too_old = None
        if connection.vendor == "sqlite" and connection.Database.sqlite_version_info < (3, 35):
            too_old = "SQLite 3.35 (UPDATE … RETURNING)"
        elif connection.vendor == "mysql" and not connection.features.has_select_for_update_skip_locked:
            too_old = "MySQL 8.0 or MariaDB 10.6 (SKIP LOCKED)"
        if too_old:
            yield checks.Error(f"The queue's database {alias!r} is older than {too_old}.", id="locqueue.E007")
