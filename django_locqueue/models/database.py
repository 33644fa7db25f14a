"""Which database the queue's rows are in."""

from typing import Any

from django.db import models, router

from django_locqueue import conf


def queue_database(model: type[models.Model], backend_alias: str | None = None) -> str:
    """Return the alias that holds the rows: the backend's ``DATABASE``, else where the routers write ``model``.

    Reads go there too: a replica may not have yet the row that was just claimed.
    """
    return conf.backend_database(backend_alias) or router.db_for_write(model)


class QueueManager(models.Manager[Any]):
    """Reads where the store writes."""

    def get_queryset(self) -> models.QuerySet[Any]:
        return super().get_queryset().using(self._db or queue_database(self.model))
