"""System checks: wrong configuration says what is wrong, and what to do, before anything runs."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core import checks
from django.db import connections

from django_locqueue import compat, conf
from django_locqueue.backend import LocQueueBackend
from django_locqueue.conf import did_you_mean, place
from django_locqueue.registry import our_backends
from django_locqueue.worker.slots import MOST_ASYNC
from django_locqueue.worker.threads import ThreadRange

ACCESS_LOG = "django_locqueue.accesslog"
ACCESS_LOG_MIDDLEWARE = f"{ACCESS_LOG}.middleware.AccessLogMiddleware"
SQLITE_OPTIONS = {"transaction_mode": "IMMEDIATE", "timeout": 20, "init_command": "PRAGMA journal_mode=WAL"}
SHORTEST_TOKEN = 16
MOST_LOG_LINES = 1_000  # they stand in the task's row, and are written once a second
MOST = 1_000_000  # threads, seconds or hours; a wait or a datetime cannot hold every finite number


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
    yield from _check_worker()
    yield from _check_admin()
    yield from _check_monitoring()


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
    worker = conf.worker
    numbers = {
        "HEARTBEAT_SECONDS": 0.1,
        "LEASE_SECONDS": conf.SMALLEST_LEASE_SECONDS,
        "GRACE_SECONDS": 0,
        "TIMEOUT_GRACE_SECONDS": 0,
        "CANCEL_GRACE_SECONDS": 0,
        "UNKNOWN_TASK_SECONDS": 0,
        "STOPPED_WORKER_HOURS": 0,
    }
    for key, least in numbers.items():
        value = getattr(worker, key)
        if not _is_number(value) or value < least:
            yield checks.Error(
                f"{place('LOCQUEUE', 'WORKER', key)} must be a number from {least} to {MOST:,}, got {value!r}.",
                id="locqueue.E013",
            )
    try:
        ThreadRange.of(worker.THREADS)
    except ValueError as error:
        yield checks.Error(
            f"{place('LOCQUEUE', 'WORKER', 'THREADS')} {error}",
            hint='4: always as many. "2-16" or (2, 16): 2, and up to 16 while tasks wait.',
            id="locqueue.E013",
        )
    limit = worker.ASYNC_CONCURRENCY
    if not isinstance(limit, int) or isinstance(limit, bool) or not 0 <= limit <= MOST_ASYNC:
        yield checks.Error(
            f"{place('LOCQUEUE', 'WORKER', 'ASYNC_CONCURRENCY')} must be a whole number from 0 to {MOST_ASYNC:,}, "
            f"got {limit!r}.",
            hint="The default is 100: so many async tasks at once on the event loop of a process. With 0 they run on "
            "threads like all others.",
            id="locqueue.E017",
        )
    lines = worker.LOG_LINES
    if not isinstance(lines, int) or isinstance(lines, bool) or not 0 <= lines <= MOST_LOG_LINES:
        yield checks.Error(
            f"{place('LOCQUEUE', 'WORKER', 'LOG_LINES')} must be a whole number from 0 to {MOST_LOG_LINES:,}, "
            f"got {lines!r}.",
            hint="The default is 50: so many lines of what a task logs are kept with it. With 0 none are.",
            id="locqueue.E022",
        )
    beat, lease = worker.HEARTBEAT_SECONDS, worker.LEASE_SECONDS
    if _is_number(beat) and _is_number(lease) and lease <= beat:
        yield checks.Warning(
            f"{place('LOCQUEUE', 'WORKER', 'LEASE_SECONDS')} ({lease}) is not larger than HEARTBEAT_SECONDS ({beat}): "
            "a worker would be taken for dead between two beats. It beats every third of the lease instead.",
            hint="The defaults are 30 and 10. A lease of three beats survives one that is late.",
            id="locqueue.W002",
        )
    if not isinstance(worker.CODE_VERSION, str):
        yield checks.Error(
            f"{place('LOCQUEUE', 'WORKER', 'CODE_VERSION')} must be a text, got {worker.CODE_VERSION!r}.",
            hint='An environment variable may be unset: os.environ.get("GIT_COMMIT", "").',
            id="locqueue.E018",
        )
    if not isinstance(worker.LISTEN, bool):
        yield checks.Error(
            f"{place('LOCQUEUE', 'WORKER', 'LISTEN')} must be True or False, got {worker.LISTEN!r}.",
            hint="True, the default, tells idle workers of new tasks where the database can.",
            id="locqueue.E019",
        )
    match worker.POLL_SECONDS:
        case (least, most) if _is_number(least) and _is_number(most) and 0 < least <= most:
            pass
        case other:
            yield checks.Error(
                f"{place('LOCQUEUE', 'WORKER', 'POLL_SECONDS')} must be (least, most) seconds, got {other!r}.",
                hint="The default is (0.1, 2): a tenth of a second just after work, two seconds when idle.",
                id="locqueue.E014",
            )


def _check_admin() -> Iterable[checks.CheckMessage]:
    admin = conf.admin
    for key in ("AUTO_REGISTER", "REFRESH", "KEYBOARD"):
        value = getattr(admin, key)
        if not isinstance(value, bool):
            yield _wrong_in_admin(key, "must be True or False", value)
    for key, least in {"COUNTS_SECONDS": 0, "STATEMENT_SECONDS": 0.1}.items():
        value = getattr(admin, key)
        if not _is_number(value) or value < least:
            yield _wrong_in_admin(key, f"must be a number from {least} to {MOST:,}", value)
    if not (isinstance(admin.READ_ONLY, bool) or callable(admin.READ_ONLY)):
        yield _wrong_in_admin(
            "READ_ONLY",
            "must be True, False, or a function that takes the request",
            admin.READ_ONLY,
            hint="A text is not imported: give the function itself.",
        )
    if not apps.is_installed("django.contrib.admin"):
        return
    from django_locqueue.admin.page_base import (
        model_admin_base,  # the pages, which a project without admin never loads
    )

    try:
        model_admin_base(admin.MODEL_ADMIN_BASE)
    except ValueError as error:
        yield _wrong_in_admin(
            "MODEL_ADMIN_BASE",
            "must name a class of ModelAdmin",
            admin.MODEL_ADMIN_BASE,
            hint=f'{error} For django-unfold: "unfold.admin.ModelAdmin", and "unfold" in INSTALLED_APPS.',
        )


def _wrong_in_admin(key: str, expected: str, value: Any, hint: str | None = None) -> checks.CheckMessage:
    return checks.Error(f"{place('LOCQUEUE', 'ADMIN', key)} {expected}, got {value!r}.", hint=hint, id="locqueue.E033")


def _check_monitoring() -> Iterable[checks.CheckMessage]:
    for key in ("MAX_WAIT_SECONDS", "MAX_FAILED", "MIN_WORKERS"):
        value = getattr(conf.monitoring, key)
        if not _is_number(value) or value < 0:
            yield checks.Error(
                f"{place('LOCQUEUE', 'MONITORING', key)} must be a number from 0 to {MOST:,}, got {value!r}.",
                hint=f"The default is {conf.monitoring.defaults[key]}.",
                id="locqueue.E020",
            )
    for key in ("HEALTH_TOKEN", "METRICS_TOKEN"):
        token = getattr(conf.monitoring, key)
        # What is sent in a header is ASCII, and spaces at its ends are lost.
        if not isinstance(token, str) or (token and (len(token) < SHORTEST_TOKEN or not _is_sendable(token))):
            yield checks.Error(
                f"{place('LOCQUEUE', 'MONITORING', key)} must be {SHORTEST_TOKEN} or more visible ASCII characters.",
                hint='Make one: python -c "import secrets; print(secrets.token_urlsafe())". Empty: there is none.',
                id="locqueue.E021",
            )


def _is_sendable(token: str) -> bool:
    return token.isascii() and token.isprintable() and " " not in token


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value <= MOST  # nan is not


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
