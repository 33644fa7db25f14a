"""What ``runqueue`` says before it begins: what runs, on which database and queues, and how to stop it."""

import platform
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

import django
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from django_locqueue import __version__, registry
from django_locqueue.clock import DatabaseNow
from django_locqueue.models import Queue
from django_locqueue.observability.logs import safe, span
from django_locqueue.observability.stats import capped_counts, capped_text
from django_locqueue.policies.outcome import first_line
from django_locqueue.store import Store
from django_locqueue.worker.options import WorkerOptions
from django_locqueue.worker.threads import ThreadRange

POOL_SIZE = 4  # of psycopg's pool, where nothing is said
MOST_QUEUES = 1000  # that are looked at for one that was meant
CLOCK_SECONDS = 2.0  # by which clocks may differ before it is told
OF_ITS_OWN = 3  # connections that a worker's services share, where they can give them back to a pool


def lines(store: Store, options: WorkerOptions, processes: int = 1) -> Iterable[str]:
    """Say it on a terminal."""
    connection = connections[store.alias]
    ready, scheduled = map(capped_text, _waiting(store, options))
    yield (
        f"django-locqueue {__version__} · Django {django.get_version()} · "
        f"Python {platform.python_version()} · {database_version(connection)}"
    )
    yield f"  worker      {options.name}"
    yield f"  database    {store.alias} ({database_place(connection)})"
    yield f"  queues      {_queues(options)}"
    for queue in _paused(store, options):
        by = f" by {safe(queue.paused_by)}" if queue.paused_by else ""
        until = f", until {queue.paused_until:%Y-%m-%d %H:%M}" if queue.paused_until else ""
        yield f"              {safe(queue.name)} is paused since {queue.paused_at:%Y-%m-%d %H:%M}{by}{until}"
    threads = ThreadRange.of(options.threads)
    slots = f"{threads} thread{'' if threads.most == 1 else 's'}"
    yield f"  slots       {slots if processes == 1 else f'{processes} processes × {slots}'}"
    yield f"  waiting     {ready} ready, {scheduled} scheduled"
    if known := len(registry.definitions()):
        yield f"  tasks       {known} known; -v 2 lists them"
    yield f"  schedules   {_schedules(store, options)}"
    if options.drain:
        yield "  stop        by itself when nothing is ready and nothing runs"
    else:
        grace = span(options.grace_seconds)
        yield f"  stop        Ctrl+C finishes running tasks (up to {grace}); press it twice to stop at once"


def start_line(store: Store, options: WorkerOptions, processes: int = 1) -> str:
    """Say it in one line, for a log. ``exclude`` and ``paused`` stand there only if there are any."""
    words = {
        "worker": options.name,
        "queues": _listed(options.queues) or "all",
        "exclude": _listed(options.exclude_queues),
        "paused": _listed(queue.name for queue in _paused(store, options)),
        "slots": str(ThreadRange(*(processes * threads for threads in ThreadRange.of(options.threads)))),
        "database": store.alias,
        "version": __version__,
    }
    return " ".join(["started", *(f"{key}={value}" for key, value in words.items() if value)])


def tasks() -> Iterable[str]:
    """Say which tasks this process knows, and where each is stored by default."""
    for path, definition in registry.definitions().items():
        yield f"  {safe(path)}  queue {safe(definition.queue_name)}, priority {definition.priority}"


def most_pooled(connection: Any) -> int | None:
    """Return how many connections the database's pool holds at most, None without a pool."""
    pool = connection.settings_dict["OPTIONS"].get("pool")
    if not pool:
        return None
    sizes = pool if isinstance(pool, dict) else {}
    return int(sizes.get("max_size") or sizes.get("min_size", POOL_SIZE))


def is_migrated(connection: Any) -> bool:
    """Whether the queue's tables are as this version wants them."""
    executor = MigrationExecutor(connection)
    wanted = [node for node in executor.loader.graph.leaf_nodes() if node[0].startswith("locqueue")]
    return not executor.migration_plan(wanted)


def warnings(store: Store, options: WorkerOptions, *, processes: int = 1, reloads: bool = False) -> Iterable[str]:
    """Each with its cure. ``reloads``: the worker restarts when code changes."""
    connection = connections[store.alias]
    if connection.vendor == "sqlite" and processes > 1:
        yield "SQLite has one writer at a time, and several processes wait for each other: give one more --threads."
    if (seconds := abs((store.now() - timezone.now()).total_seconds())) > CLOCK_SECONDS:
        yield (
            f"The clocks of the database and of this machine differ by {span(seconds)}. Tasks start by the database's; "
            "let both keep time by NTP."
        )
    if store.workers.live(DatabaseNow()).filter(name=options.name)[1:2]:  # the first is this one's own row
        yield f"Another worker is called {safe(options.name)} too: give one of them another --worker-id."
    if not is_migrated(connection):
        yield f"The task queue has database changes that are not applied: {migrate_command(store.alias)}"
    needed = ThreadRange.of(options.threads).most + OF_ITS_OWN
    if (most := most_pooled(connection)) is not None and most < needed:
        yield (
            f"The connection pool of “{store.alias}” has {most} connections, and this worker needs "
            f'{needed}: raise "max_size" in OPTIONS["pool"], or tasks will wait for each other.'
        )
    if settings.DEBUG:
        restarts = ", and the worker restarts when code changes" if reloads else ""
        yield f"DEBUG is on: every query is kept for the length of a task{restarts}."
    known = set(Queue.objects.using(store.alias).values_list("name", flat=True)[:MOST_QUEUES]) if options.queues else ()
    for name in options.queues:
        if name not in known and not _has_tasks(store, name):
            close = get_close_matches(name, known, n=1)
            meant = f" Did you mean “{safe(close[0])}”?" if close else ""
            yield f"Queue “{safe(name)}” has no tasks yet.{meant}"


def problem(options: WorkerOptions) -> str | None:
    """Return why a worker with these options would serve nothing; None if it serves something."""
    if not options.queues or set(options.queues) - set(options.exclude_queues):
        return None
    return (
        f"--exclude-queue leaves out every queue that --queue names ({_listed(options.queues)}), "
        "so this worker would serve nothing. Name another queue, or leave one of the two options out."
    )


def unavailable(alias: str, error: BaseException) -> Iterable[str]:
    """Say that the database cannot be used, and what may help: the statement that failed helps nobody."""
    yield f"The database “{alias}” cannot be used: {first_line(error)}"
    yield f"Is it running, and has `{migrate_command(alias)}` been run?"


def migrate_command(alias: str) -> str:
    """Return the command that makes the queue's tables in the database of this alias."""
    return "python manage.py migrate" + ("" if alias == DEFAULT_DB_ALIAS else f" --database {alias}")


def _paused(store: Store, options: WorkerOptions) -> Iterable[Queue]:
    """Return the paused queues among those that the worker is for."""
    paused = Queue.objects.using(store.alias).paused(DatabaseNow()).exclude(name__in=options.exclude_queues)
    found: Iterable[Queue] = (paused.filter(name__in=options.queues) if options.queues else paused).order_by("name")
    return found


def _waiting(store: Store, options: WorkerOptions) -> Iterable[int]:
    rows = {
        "ready": store.tasks.ready().order_by("queue_name", "-priority", "run_after", "id"),
        "scheduled": store.tasks.scheduled().order_by("run_after", "id"),
    }
    if options.queues:
        rows = {name: found.filter(queue_name__in=options.queues) for name, found in rows.items()}
    if options.exclude_queues:
        rows = {name: found.exclude(queue_name__in=options.exclude_queues) for name, found in rows.items()}
    return capped_counts(rows).values()


def _schedules(store: Store, options: WorkerOptions) -> str:
    rows = {"all": store.schedules.order_by("next_at"), "on": store.schedules.filter(enabled=True).order_by("next_at")}
    every, on = map(capped_text, capped_counts(rows).values())
    whose = (
        "this worker adds their tasks" if options.schedules and not options.drain else "other workers add their tasks"
    )
    return f"{every} ({on} on), {whose}"


def _has_tasks(store: Store, name: str) -> bool:
    return store.tasks.ready().filter(queue_name=name).exists()


def _listed(names: Iterable[str]) -> str:
    return ",".join(map(safe, names))


def _queues(options: WorkerOptions) -> str:
    named = ", ".join(map(safe, options.queues)) or "all"
    return f"{named}, except {', '.join(map(safe, options.exclude_queues))}" if options.exclude_queues else named


def database_version(connection: Any) -> str:
    connection.ensure_connection()
    if connection.vendor == "mysql":
        name = "MariaDB" if connection.mysql_is_mariadb else "MySQL"
        return f"{name} {'.'.join(map(str, connection.mysql_version))}"
    if connection.vendor == "postgresql":
        return f"PostgreSQL {connection.pg_version // 10000}"
    return f"SQLite {connection.Database.sqlite_version}"


def database_place(connection: Any) -> str:
    host = connection.settings_dict.get("HOST")
    name = str(connection.settings_dict["NAME"])
    return f"{name} on {host}" if host else name
