"""Text that is told apart by every character."""

from typing import Any

from django.db.models import CharField, Func


class Exact(Func):
    """A column to group by. MySQL and MariaDB take ``/A``, ``/a`` and ``/á`` for the same, unless they see bytes."""

    template = "%(expressions)s"
    output_field = CharField()

    def as_mysql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template="CAST(%(expressions)s AS BINARY)", **context)

    def convert_value(self, value: Any, _expression: Any, _connection: Any) -> Any:
        return value.decode() if isinstance(value, bytes) else value


class ExactAddress(Func):
    """A column of addresses as text, empty if there is none. PostgreSQL has a type for them, and no text is of it."""

    template = "COALESCE(%(expressions)s, '')"
    output_field = CharField()

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template="COALESCE(HOST(%(expressions)s), '')", **context)
