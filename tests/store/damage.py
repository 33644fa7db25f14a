"""Values that only SQL can put into a row: by hand, or by a faulty import."""

from typing import Any

from django.db import connection

MEGABYTE = ("w" * 100 + "\n") * 10_000

# Of any database. What the model's own columns hold, and no enqueue writes.
ANYWHERE: dict[str, dict[str, Any]] = {
    "attempt at its end": {"attempt": 2**31 - 1},
    "claim_no at its end": {"claim_no": 2**31 - 1},
    "crashes at their end": {"crashes": 32_767},
    "least priority": {"priority": -32_768},
    "largest priority": {"priority": 32_767},
    "no attempt allowed": {"max_attempts": 0},
    "unknown state": {"state": "nonsense"},
    "empty arguments": {"args_kwargs": ""},
    "null arguments": {"args_kwargs": "null"},
    "arguments in a list": {"args_kwargs": "[]"},
    "arguments of another shape": {"args_kwargs": '{"args": 5}'},
    "cut arguments": {"args_kwargs": '{"args": [1'},
    "arguments nested too deep": {"args_kwargs": "[" * 20_000},
    "a number of too many digits": {"args_kwargs": '{"args":[' + "9" * 9_000 + '],"kwargs":{}}'},
    "metadata that is no JSON": {"metadata": "{nonsense"},
    "metadata in a list": {"metadata": "[1]"},
    "a result that is no JSON": {"return_value": "{bad"},
    "empty path": {"task_path": ""},
    "longest path": {"task_path": "x" * 255},
    "empty queue": {"queue_name": ""},
    "a megabyte of workers": {"worker_ids": MEGABYTE},
    "unknown backend": {"backend_alias": "gone"},
}
TIMES = {
    "postgresql": ("infinity", "-infinity", "20000-01-01", "0044-03-15 BC"),
    "sqlite": ("infinity", "20000-01-01 00:00:00", ""),
    "mysql": ("0000-00-00 00:00:00", "2026-00-00 00:00:00", "9999-12-31 23:59:59"),
}
DAMAGES = [
    *ANYWHERE,
    *(
        f"{column} {number}"
        for column in ("run_after", "enqueued_at", "started_at", "finished_at")
        for number in range(4)
    ),
]


def damage(task_id: int, name: str) -> bool:
    """Put the values into the row. False: this database has no such value."""
    if name in ANYWHERE:
        values = ANYWHERE[name]
        if connection.vendor == "mysql" and name in ("attempt at its end", "claim_no at its end"):
            values = dict.fromkeys(values, 2**32 - 1)
    else:
        column, _, number = name.partition(" ")
        times = TIMES[connection.vendor]
        if int(number) >= len(times):
            return False
        values = {column: times[int(number)]}
    with connection.cursor() as cursor:
        if connection.vendor == "mysql":
            cursor.execute("SET @before = @@sql_mode, SESSION sql_mode = ''")
        columns = ", ".join(f"{column} = %s" for column in values)
        cursor.execute(f"UPDATE locqueue_task SET {columns} WHERE id = %s", [*values.values(), task_id])
        if connection.vendor == "mysql":
            cursor.execute("SET SESSION sql_mode = @before")
    return True
