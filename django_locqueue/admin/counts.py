"""Several small counts in one statement, each of them bounded."""

from collections.abc import Mapping
from typing import Any

from django.db import connections
from django.db.models import QuerySet

from django_locqueue.admin.paginator import CAP


def capped_counts(rows: Mapping[str, QuerySet[Any]], cap: int = CAP) -> dict[str, int]:
    """Return for each queryset how many rows it has, at most ``cap + 1``.

    Give the querysets the ordering of the index that holds them, for the reason in ``CappedPaginator``.
    """
    if not rows:
        return {}
    alias = next(iter(rows.values())).db
    parts, params = [], []
    for queryset in rows.values():
        sql, values = queryset.values("pk")[: cap + 1].query.get_compiler(using=alias).as_sql()
        parts.append(f"(SELECT COUNT(*) FROM ({sql}) AS capped)")  # noqa: S608 - the ORM wrote it
        params.extend(values)
    with connections[alias].cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(parts)}", params)
        return dict(zip(rows, cursor.fetchone(), strict=True))
