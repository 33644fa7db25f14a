"""Rows that wait for their turn under a limit."""

from typing import Any

from django_locqueue.models import Task
from django_locqueue.policies.terms import Terms
from tests.store.rows import EMPTY_CALL, PATH, ago, put


def blocked(
    key: str | None = None,
    *,
    rate: tuple[str, int, float] | None = None,
    concurrency: int | None = None,
    chunk: tuple[int, float] | None = None,
    **columns: Any,
) -> int:
    """Insert a task under a concurrency key, a rate (name, starts, seconds), or both, or only for a chunk."""
    limit_key, terms = _limit(key, rate, concurrency, chunk)
    return put("blocked", **{"limit_key": limit_key, "terms": terms, "run_after": ago(minutes=1), **columns})


def blocked_many(count: int, key: str | None = None, **options: Any) -> None:
    limits = {name: options.pop(name, None) for name in ("rate", "concurrency", "chunk")}
    limit_key, terms = _limit(key, **limits)
    row = {"task_path": PATH, "args_kwargs": EMPTY_CALL, "run_after": ago(minutes=1), **options}
    tasks = [Task(state="blocked", limit_key=limit_key, terms=terms, **row) for _ in range(count)]
    Task.objects.bulk_create(tasks, batch_size=500)


def _limit(
    key: str | None,
    rate: tuple[str, int, float] | None,
    concurrency: int | None,
    chunk: tuple[int, float] | None,
) -> tuple[str, str | None]:
    name, starts, seconds = rate or (None, None, None)
    size, wait = chunk or (None, 0.0)
    if key is not None and concurrency is None:
        concurrency = 1
    limit_key = f"c:{key}" if key is not None else f"r:{name}" if name is not None else f"k:{PATH}"
    terms = Terms(
        concurrency=concurrency, rate_key=name, rate_limit=starts, rate_seconds=seconds, chunk=size, chunk_wait=wait
    )
    return limit_key, terms.dump()
