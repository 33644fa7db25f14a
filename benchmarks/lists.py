"""How long admin's lists of tasks take beside ten million: ``python -m benchmarks.lists``.

Makes the rows by one statement on PostgreSQL, asks each page through Django's test client, whose time is all of the
request's but the network, and prints the median and the longest of seven, with the number of queries.
"""

import argparse
import os
import sys
import time
from statistics import median
from typing import Any

from benchmarks import database

ROWS = 10_000_000
TIMES = 7

PAGES = (
    "overview/",
    "pendingtask/",
    "pendingtask/?tab=scheduled",
    "pendingtask/?tab=overdue&q=gone",
    "runningtask/",
    "failedtask/",
    "failedtask/?last=24h",
    "failedtask/?group=f7",
    "failedtask/?task=shop.gone",
    "failedtask/?q=gone",
    "failedtask/?p=200",
    "failedtask/?tab=dismissed",
    "failedtask/errors/",
    "failedtask/tasks/",
    "retriedtask/",
    "retriedtask/?tab=succeeded",
    "task/",
    "task/?last=all&state=cancelled",
    "task/?q=gone",
    "bulkoperation/new/?listing=failed&verb=retry",
    "bulkoperation/new/?listing=failed&verb=retry&group=f7",
    "bulkoperation/new/?listing=failed&verb=retry&q=gone",
    "bulkoperation/new/?listing=all&last=all&verb=delete&q=gone",
)

# Of a hundred tasks five failed, one was cancelled, one waits and one is scheduled; the others succeeded. Of those that
# failed all were dismissed but the oldest fifth and the latest tenth.
COLUMNS = {
    "state": "CASE n % 100 WHEN 0 THEN 'ready' WHEN 1 THEN 'scheduled' WHEN 2 THEN 'cancelled' "
    "WHEN 3 THEN 'failed' WHEN 4 THEN 'failed' WHEN 5 THEN 'failed' WHEN 6 THEN 'failed' WHEN 7 THEN 'failed' "
    "ELSE 'successful' END",
    "queue_name": "CASE n % 3 WHEN 0 THEN 'mail' ELSE 'default' END",
    "task_path": "'shop.tasks.t' || n % 40",
    "args_kwargs": '\'{"args": [\' || n || \'], "kwargs": {"email": "someone@example.com"}}\'',
    "worker_ids": "'web-1:' || n % 8 || E'\\n'",
    "attempt": "CASE WHEN n % 100 < 2 THEN 0 ELSE 1 + (n % 20 = 3)::int END",
    "enqueued_at": "NOW() - (%(rows)s - n) * INTERVAL '0.1 second'",
    "run_after": "NOW() - (%(rows)s - n) * INTERVAL '0.1 second' + (n % 100 = 1)::int * INTERVAL '30 days'",
    "started_at": "CASE WHEN n % 100 > 1 THEN NOW() - (%(rows)s - n) * INTERVAL '0.1 second' END",
    "finished_at": "CASE WHEN n % 100 > 1 THEN NOW() - (%(rows)s - n) * INTERVAL '0.1 second' END",
    "error_class": "CASE WHEN n % 100 BETWEEN 3 AND 7 THEN 'builtins.OSError' ELSE '' END",
    "error_message": "CASE WHEN n % 100 BETWEEN 3 AND 7 THEN 'disk full' ELSE '' END",
    "dismissed": "n % 100 BETWEEN 3 AND 7 AND n BETWEEN 0.2 * %(rows)s AND 0.9 * %(rows)s",
    "error_group_id": "CASE WHEN n % 100 BETWEEN 3 AND 7 THEN 'f' || n % 30 END",
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lists", description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--postgres", metavar="URL", help="a server, as a superuser (default: one made for this run)")
    options = parser.parse_args()
    with database.postgres_server(options.postgres) as server, database.postgres_database(server) as url:
        os.environ |= {"DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "testproject.settings", "ACCESS_LOG": "off"}
        import django

        django.setup()
        fill(options.rows)
        measure()
    return 0


def fill(rows: int) -> None:
    from django.core.management import call_command
    from django.db import connection

    from django_locqueue.models import ErrorGroup, Task

    call_command("migrate", verbosity=0)
    others = [field for field in Task._meta.concrete_fields if field.column not in COLUMNS and not field.primary_key]
    defaults = {str(field.column): field.get_db_prep_save(field.get_default(), connection) for field in others}
    values = [*COLUMNS.values(), *(f"%({name})s" for name in defaults)]
    # Signs of percent that are SQL's own are doubled, those of parameters are not.
    chosen = ", ".join(value.replace(" % ", " %% ") for value in values)
    names = ", ".join((*COLUMNS, *defaults))
    began = time.monotonic()
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = off")
        cursor.execute(
            f"INSERT INTO locqueue_task ({names}) SELECT {chosen} FROM generate_series(1, %(rows)s) AS n",  # noqa: S608
            {**defaults, "rows": rows},
        )
        cursor.execute("VACUUM ANALYZE locqueue_task")
    ErrorGroup.objects.bulk_create(
        [ErrorGroup(fingerprint=f"f{number}", error_class="builtins.OSError") for number in range(30)]
    )
    print(f"{rows:,} tasks in {time.monotonic() - began:.0f} s")  # noqa: T201


def measure() -> None:
    from django.contrib.auth import get_user_model
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    client = Client(SERVER_NAME="localhost")
    client.force_login(get_user_model().objects.create(username="root", is_staff=True, is_superuser=True))
    for page in PAGES:
        url = f"/admin/locqueue/{page}"
        taken = sorted(_seconds(client, url) for _ in range(TIMES))
        with CaptureQueriesContext(connection) as captured:
            client.get(url)
        slowest = max((float(query["time"]), query["sql"]) for query in captured)
        times = f"{1000 * median(taken):4.0f} ms {1000 * taken[-1]:6.0f} ms"
        print(f"{page:<58} {times} {len(captured):3} queries, {1000 * slowest[0]:4.0f} ms the longest")  # noqa: T201
        if os.environ.get("EXPLAIN") and slowest[0] > 0.05:
            print(slowest[1])  # noqa: T201


def _seconds(client: Any, url: str) -> float:
    began = time.perf_counter()
    response = client.get(url)
    if response.status_code != 200:
        raise SystemExit(f"{url} answered {response.status_code}.")
    return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(main())
