"""What models are made of: columns that hold the same on every database, and a manager that reads where they are.

JSON is kept as text, names are told apart, and times can be read.
"""

import json
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models, router
from django.db.models.expressions import Col

from django_locqueue import clock, conf
from django_locqueue.policies import payload


class JSONTextField(models.TextField):  # type: ignore[type-arg]
    """A JSON value in a text column, the same bytes on every database.

    The databases' own JSON types change what they are given: PostgreSQL refuses U+0000 and lone surrogates, MySQL
    reorders keys and rounds large numbers. A queue must hand out what it was given. Nothing ever searches in
    payloads by SQL, so nothing is lost. Text that is not JSON (edited by hand) reads as the text itself, so that
    pages and pruning still work on such a row.
    """

    _pyi_private_set_type: Any  # what mypy takes a column to hold
    _pyi_private_get_type: Any

    def from_db_value(self, value: str | None, expression: Any, connection: Any) -> Any:
        if value is None:
            return None
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value

    def get_prep_value(self, value: Any) -> str | None:
        return None if value is None else payload.dump(value)

    def to_python(self, value: Any) -> Any:
        return value

    def value_to_string(self, obj: models.Model) -> str:
        return json.dumps(self.value_from_object(obj))

    def validate(self, value: Any, model_instance: models.Model | None) -> None:
        try:
            payload.dump(value)
        except (TypeError, ValueError) as error:
            raise ValidationError(str(error)) from error


class NameField(models.CharField):  # type: ignore[type-arg]
    """A name in which capitals and trailing spaces count, on every database.

    By MySQL's and MariaDB's usual collations `mail` and `Mail` are one queue: the walk from name to name stops at one
    of them, and a worker of the other gets nothing.
    """

    def db_parameters(self, connection: Any) -> Any:
        parameters: Any = super().db_parameters(connection)
        if connection.vendor == "mysql":
            parameters["collation"] = "utf8mb4_nopad_bin" if connection.mysql_is_mariadb else "utf8mb4_0900_bin"
        return parameters


class MomentField(models.DateTimeField):  # type: ignore[type-arg]
    """A time that can be read whatever the row holds.

    PostgreSQL keeps `infinity` and the year 20000, MySQL `0000-00-00`, SQLite any text. One such row, edited by hand,
    would make each page and each query that meets it raise; it is read as the first or the last day there is.
    """

    def deconstruct(self) -> tuple[str, str, Any, Any]:
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.DateTimeField", args, kwargs  # the column is the same

    def select_format(self, compiler: Any, sql: str, params: Any) -> tuple[str, Any]:
        bounded = clock.bounded_sql(compiler.connection, sql)
        return bounded, params if bounded == sql else (*params,) * 5

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        is_unreadable = value is None and not self.null and isinstance(expression, Col)  # the least of no rows is None
        return clock.storable(clock.EARLIEST) if is_unreadable else value


def queue_database(model: type[models.Model], backend_alias: str | None = None) -> str:
    """Return the alias that holds the rows: the backend's ``DATABASE``, else where the routers write ``model``.

    Reads go there too: a replica may not have yet the row that was just claimed.
    """
    return conf.backend_database(backend_alias) or router.db_for_write(model)


class QueueManager(models.Manager[Any]):
    """Reads where the store writes."""

    def get_queryset(self) -> models.QuerySet[Any]:
        return super().get_queryset().using(self._db or queue_database(self.model))
