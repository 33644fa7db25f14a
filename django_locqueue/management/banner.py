"""What ``runqueue`` says before it begins: what runs, on which database and queues, and how to stop it."""

import platform
from collections.abc import Iterable
from typing import Any

import django
from django.conf import settings
from django.db import connections
from django.db.migrations.executor import MigrationExecutor

from django_locqueue import __version__
from django_locqueue.models import Queue
from django_locqueue.observability.logs import safe, span
from django_locqueue.observability.stats import capped_counts, capped_text
from django_locqueue.store import Store
from django_locqueue.worker.worker import WorkerOptions


def lines(store: Store, options: WorkerOptions, processes: int = 1) -> Iterable[str]:
    connection = connections[store.alias]
    ready, scheduled = map(capped_text, _waiting(store, options))
    yield (
        f"django-locqueue {__version__} · Django {django.get_version()} · "
        f"Python {platform.python_version()} · {database_version(connection)}"
    )
    yield f"  worker      {options.name}"
    yield f"  database    {store.alias} ({database_place(connection)})"
    yield f"  queues      {_queues(options)}"
    for queue in Queue.objects.using(store.alias).exclude(paused_at=None):
        by = f" by {safe(queue.paused_by)}" if queue.paused_by else ""
        yield f"              {safe(queue.name)} is paused since {queue.paused_at:%Y-%m-%d %H:%M}{by}"
    threads = f"{options.threads} thread{'' if options.threads == 1 else 's'}"
    yield f"  slots       {threads if processes == 1 else f'{processes} processes × {threads}'}"
    yield f"  waiting     {ready} ready, {scheduled} scheduled"
    if options.drain:
        yield "  stop        by itself when nothing is ready and nothing runs"
    else:
        grace = span(options.grace_seconds)
        yield f"  stop        Ctrl+C finishes running tasks (up to {grace}); press it twice to stop at once"


def warnings(store: Store, options: WorkerOptions) -> Iterable[str]:
    """Each with its cure."""
    connection = connections[store.alias]
    executor = MigrationExecutor(connection)
    wanted = [node for node in executor.loader.graph.leaf_nodes() if node[0].startswith("locqueue")]
    if executor.migration_plan(wanted):
        yield "The task queue has database changes that are not applied: python manage.py migrate"
    if settings.DEBUG:
        yield "DEBUG is on: every query is kept for the length of a task, and the worker restarts when code changes."
    for name in options.queues:
        if not Queue.objects.using(store.alias).filter(name=name).exists() and not _has_tasks(store, name):
            yield f"Queue “{safe(name)}” has no tasks yet."


def _waiting(store: Store, options: WorkerOptions) -> Iterable[int]:
    rows = {
        "ready": store.tasks.ready().order_by("queue_name", "-priority", "run_after", "id"),
        "scheduled": store.tasks.scheduled().order_by("run_after", "id"),
    }
    if options.queues:
        rows = {name: found.filter(queue_name__in=options.queues) for name, found in rows.items()}
    return capped_counts(rows).values()


def _has_tasks(store: Store, name: str) -> bool:
    return store.tasks.ready().filter(queue_name=name).exists()


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
