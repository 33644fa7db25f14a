"""The only code that writes task rows; one module per database vendor."""

from functools import cache

from django.core.exceptions import ImproperlyConfigured
from django.db import connections

from django_locqueue.models import Task
from django_locqueue.models.fields import queue_database
from django_locqueue.store.end_counts import EndCounts
from django_locqueue.store.recover import Rescued
from django_locqueue.store.store import Store
from django_locqueue.store.values import Call, Chunk, Claimed, Enqueued, Itemised, Key, Placed

__all__ = [
    "Call",
    "Chunk",
    "Claimed",
    "EndCounts",
    "Enqueued",
    "Itemised",
    "Key",
    "Placed",
    "Rescued",
    "Store",
    "get_store",
    "store_for",
]


def get_store(backend_alias: str | None = None) -> Store:
    """Return the store of a backend's database; without a name, of the first of our backends in ``TASKS``."""
    return store_for(queue_database(Task, backend_alias))


@cache
def store_for(alias: str) -> Store:
    """Return the store on a database alias. Raises ImproperlyConfigured for a database that we do not know."""
    match connections[alias].vendor:
        case "postgresql":
            from django_locqueue.store.postgresql import PostgreSQLStore

            return PostgreSQLStore(alias)
        case "mysql":
            from django_locqueue.store.mysql import MySQLStore

            return MySQLStore(alias)
        case "sqlite":
            from django_locqueue.store.sqlite import SQLiteStore

            return SQLiteStore(alias)
    raise ImproperlyConfigured(
        f"django-locqueue stores tasks in PostgreSQL, MySQL, MariaDB or SQLite; "
        f"DATABASES[{alias!r}] is {connections[alias].vendor}."
    )
