"""Database routers, as projects with a replica or with a database of its own for the queue have them."""

from typing import Any

from django.db.models import Model

QUEUE = "locqueue"  # the app's label; the access log is an app of its own


class ReadsFromReplica:
    """Reads of the queue's tables that are left to the routers go to `replica`, which has no tables."""

    def db_for_read(self, model: type[Model], **hints: Any) -> str | None:
        return "replica" if model._meta.app_label == QUEUE else None

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool | None:
        return False if db == "replica" else None


class QueueApart(ReadsFromReplica):
    """The same, and the queue's tables are written on `second`; all else is in `default`."""

    def db_for_write(self, model: type[Model], **hints: Any) -> str | None:
        return "second" if model._meta.app_label == QUEUE else None


class RefusesReads:
    """Nobody may even ask where to read the queue's tables."""

    def db_for_read(self, model: type[Model], **hints: Any) -> str | None:
        if model._meta.app_label == QUEUE:
            raise AssertionError(f"a read of {model.__name__} was left to the routers")
        return None
