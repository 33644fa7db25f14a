"""Indexes that hold only the rows one statement looks for."""

from collections.abc import Sequence
from typing import Any

from django.db import models
from django.db.models import Q


class PartialIndex(models.Index):
    """A partial index where the database has them, a plain one over other columns elsewhere.

    ``where``: which rows are in it. ``otherwise``: the columns of the plain index on MySQL and MariaDB, which start
    with what ``where`` asks for. Django's own ``condition=`` leaves such a database without any index.
    """

    def __init__(
        self,
        *,
        where: Q | None = None,
        otherwise: Sequence[str] = (),
        unique: bool = False,
        fields: Sequence[str] = (),
        name: str | None = None,
    ) -> None:
        self.where = where
        self.otherwise = list(otherwise)
        self.unique = unique
        super().__init__(fields=fields, name=name)

    def deconstruct(self) -> tuple[str, Any, dict[str, Any]]:
        path, args, kwargs = super().deconstruct()
        return path, args, {**kwargs, "where": self.where, "otherwise": self.otherwise, "unique": self.unique}

    def create_sql(self, model: Any, schema_editor: Any, using: str = "", **kwargs: Any) -> Any:
        if schema_editor.connection.features.supports_partial_indexes:
            index = models.Index(fields=self.fields, name=self.name, condition=self.where)
        else:
            index = models.Index(fields=self.otherwise, name=self.name)
        statement = index.create_sql(model, schema_editor, using, **kwargs)
        if self.unique:
            statement.template = statement.template.replace("CREATE INDEX", "CREATE UNIQUE INDEX", 1)
        return statement
