"""Whether the tables are those that this code wants: columns, indexes, migrations."""

from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.db import connections
from django.db.models import Model

from django_locqueue.management.doctor import Finding
from django_locqueue.observability.migrations import missing_migrations


def look(alias: str) -> Iterator[Finding]:
    missing = missing_migrations(alias)
    yield Finding.of(
        "migrations",
        "all applied",
        missing,
        f"not applied: {', '.join(missing)}",
        "python manage.py migrate locqueue",
    )
    columns, indexes = [], []
    connection: Any = connections[alias]
    with connection.cursor() as cursor:
        tables = set(connection.introspection.table_names(cursor))
        for model in _models():
            table = model._meta.db_table
            if table not in tables:
                columns.append(table)
                continue
            there = {column.name for column in connection.introspection.get_table_description(cursor, table)}
            columns += [f"{table}.{name}" for name in _columns(model) if name not in there]
            known = connection.introspection.get_constraints(cursor, table)
            indexes += [name for name in _indexes(model) if name not in known]
    yield Finding.of(
        "columns",
        "as in the models",
        columns,
        f"missing: {', '.join(columns)}",
        "python manage.py migrate locqueue; if that does nothing, the table was changed by hand",
    )
    yield Finding.of(
        "indexes",
        "all there",
        indexes,
        f"missing: {', '.join(indexes)}",
        "Make them anew: python manage.py sqlmigrate locqueue 0001 (and those after it) shows the statements, "
        "CREATE INDEX CONCURRENTLY on PostgreSQL holds nobody up",
    )


def _models() -> list[type[Model]]:
    models = apps.get_app_config("locqueue").get_models()
    return [model for model in models if model._meta.managed and not model._meta.proxy]


def _columns(model: type[Model]) -> list[str]:
    return [str(field.column) for field in model._meta.local_concrete_fields]


def _indexes(model: type[Model]) -> list[str]:
    return [index.name for index in model._meta.indexes] + [each.name for each in model._meta.constraints]
