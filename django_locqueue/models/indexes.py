"""Indexes that hold only the rows one statement looks for."""

from collections.abc import Sequence
from typing import Any

from django.db import models
from django.db.models import Lookup, Q


class IsOpen(Lookup):
    """That a task has failed and nobody has dismissed it, in the words of the condition of one index, and of no other.

    ``state`` and ``dismissed`` are its sides. Asked so, PostgreSQL and SQLite have only that index to choose: by what
    they believe of a queue's table they may take another whose condition the rows meet, and read all of it for what the
    right one has at its head. PostgreSQL estimates these words as it does ``state = 'failed'``, which they mean.
    """

    prepare_rhs = False
    words = "({} <> 'failed') IS NOT TRUE"

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, Any]:
        (state, params), (dismissed, more) = compiler.compile(self.lhs), compiler.compile(self.rhs)
        return self.sql(connection.vendor, state, dismissed), (*params, *more)

    @classmethod
    def sql(cls, vendor: str, state: str = "state", dismissed: str = "dismissed") -> str:
        """Return the same without parameters. Not by Django: SQLite compares texts, and each version writes others."""
        if vendor == "mysql":  # which has no partial indexes
            return f"({state} = 'failed' AND {dismissed} = 0)"
        return f"({cls.words.format(state)} AND NOT {dismissed})"


class IsOpenOfAKind(IsOpen):
    words = "({} = 'failed') IS NOT FALSE"


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
