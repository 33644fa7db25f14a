"""Columns that hold the same on every database: JSON kept as text, and names that are told apart."""

import json
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models

from django_locqueue.policies import payload


class JSONTextField(models.TextField):  # type: ignore[type-arg]
    """A JSON value in a text column, the same bytes on every database.

    The databases' own JSON types change what they are given: PostgreSQL refuses U+0000 and lone surrogates, MySQL
    reorders keys and rounds large numbers. A queue must hand out what it was given. Nothing ever searches in
    payloads by SQL, so nothing is lost. Text that is not JSON (edited by hand) reads as the text itself, so that
    pages and pruning still work on such a row.
    """

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
