"""Rows where they are written."""

from typing import TypeVar

from django.db import router
from django.db.models import Model, QuerySet

Row = TypeVar("Row", bound=Model)


def primary(model: type[Row]) -> QuerySet[Row]:
    """Return the rows of the database that is written to; a replica may not have the latest yet."""
    return model._default_manager.using(router.db_for_write(model))
