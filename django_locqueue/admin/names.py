"""Names that a filter offers: from small tables, never from that of tasks."""

from collections.abc import Mapping
from typing import Any

from django.db import connections
from django.db.models import QuerySet

from django_locqueue import registry
from django_locqueue.models import ErrorGroup, Worker

MOST = 50


def recent_names(request: Any) -> dict[str, list[str]]:
    """Return the names of the latest ``workers`` and ``errors``, read once for a request by one statement."""
    if not hasattr(request, "_locqueue_names"):
        request._locqueue_names = _read(
            {
                "workers": Worker.objects.order_by("-id").values_list("name"),
                "errors": ErrorGroup.objects.order_by("-last_seen").values_list("error_class"),
            }
        )
    names: dict[str, list[str]] = request._locqueue_names
    return names


def _read(columns: Mapping[str, QuerySet[Any, Any]]) -> dict[str, list[str]]:
    alias = next(iter(columns.values())).db
    parts, params = [], []
    for label, names in columns.items():
        sql, values = names[:MOST].query.get_compiler(using=alias).as_sql()
        parts.append(f"SELECT '{label}', named.* FROM ({sql}) AS named")  # noqa: S608 - the ORM wrote it
        params.extend(values)
    found: dict[str, list[str]] = {label: [] for label in columns}
    with connections[alias].cursor() as cursor:
        cursor.execute(" UNION ALL ".join(parts), params)
        for label, name in cursor.fetchall():
            if name not in found[label]:
                found[label].append(name)
    return {label: sorted(names) for label, names in found.items()}


def task_paths() -> list[str]:
    """Return the paths of the tasks that this process knows."""
    registry.autodiscover()
    return list(registry.definitions())
