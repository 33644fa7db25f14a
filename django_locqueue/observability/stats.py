"""Numbers about the queue, for commands and pages. Counts are capped: none reads more than the cap."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connections
from django.db.models import QuerySet
from django.utils.formats import number_format

CAP = 10_000


def capped_counts(rows: Mapping[str, QuerySet[Any]], cap: int = CAP) -> dict[str, int]:
    """Return for each queryset how many rows it has, at most ``cap + 1``, by one statement for all.

    Give the querysets the ordering of the index that holds them. Without it PostgreSQL may scan the table in the hope
    of finding enough rows early, and find them at its end.
    """
    if not rows:
        return {}
    alias = next(iter(rows.values())).db
    parts, params = [], []
    for queryset in rows.values():
        try:
            sql, values = queryset.values("pk")[: cap + 1].query.get_compiler(using=alias).as_sql()
        except EmptyResultSet:  # Django knows that it finds nothing
            parts.append("0")
            continue
        parts.append(f"(SELECT COUNT(*) FROM ({sql}) AS capped)")  # noqa: S608 - the ORM wrote it
        params.extend(values)
    with connections[alias].cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(parts)}", params)
        return dict(zip(rows, cursor.fetchone(), strict=True))


def capped_text(found: int, cap: int = CAP) -> str:
    """Return ``312`` or ``10,000+``. ``found``: a count over at most ``cap + 1`` rows."""
    text = number_format(min(found, cap), force_grouping=True)
    return f"{text}+" if found > cap else text


def tasks_text(found: int, cap: int = CAP) -> str:
    """Return ``1 task`` or ``10,000+ tasks``."""
    return f"{capped_text(found, cap)} task{'' if found == 1 else 's'}"
