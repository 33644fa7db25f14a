"""Indexes that hold only the rows one statement looks for."""

from collections.abc import Sequence
from typing import Any

from django.db import models
from django.db.models import F, Lookup, Q


class HasFailed(Lookup):
    """That a task has failed, in the words of the condition of one index, and of no other.

    Both of these mean no more than ``state = 'failed'``. But asked so, PostgreSQL and SQLite have only that index to
    choose: by what they believe of a queue's table they may take another whose condition the rows meet, and read all of
    it for what the right one has at its head. PostgreSQL estimates these as it does the plain words.
    """

    prepare_rhs = False

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, Any]:
        sql, params = compiler.compile(self.lhs)
        return has_failed_sql(sql, self.rhs, connection.vendor), params


def has_failed_sql(column: str, words: str, vendor: str) -> str:
    """Return the same as SQL, without parameters: SQLite does not compare them with the condition of an index."""
    return f"{column} = 'failed'" if vendor == "mysql" else words.format(column)


OPEN = "({} <> 'failed') IS NOT TRUE"
OF_A_KIND = "({} = 'failed') IS NOT FALSE"
IS_OPEN = Q(HasFailed(F("state"), OPEN), dismissed=False)
IS_OPEN_OF_A_KIND = Q(HasFailed(F("state"), OF_A_KIND), dismissed=False)


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
