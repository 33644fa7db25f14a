"""What the analytics of a month cost: counting an hour of the log, adding up a day, and reading a page's numbers.

PostgreSQL only, since the rows are made there: ``python -m benchmarks.analytics 10000000`` makes so many in the
database of BENCHMARK_DATABASE_URL, from 25,000 addresses for 2,000 paths, of both of which a few are most of the
traffic. A page's numbers are the overview, with the period before, and eight tables.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator

import django
import environ
from django.conf import settings

from benchmarks.product import LOCQUEUE
from benchmarks.run import Reading, Run
from benchmarks.worker import ROOT

DAYS = 30
DIMENSIONS = ("status", "country", "province", "city", "isp", "path", "ip", "referer")

# What differs from row to row. power() of an even number between 0 and 1: the first keys get most of the requests.
COLUMNS = {
    "hit_id": "lpad(n::text, 32, '0')",
    "time": "now() - interval '30 days' * (n / %(requests)s::float)",
    "ip": "('49.65.' || net || '.' || last)::inet",
    "prefix": "'49.65.' || net || '.0/24'",
    "path": "'/products/' || floor(2000 * power(random(), 3))",
    "status": "(ARRAY[200, 200, 200, 200, 200, 301, 404, 500])[1 + floor(random() * 8)]",
    "duration_ms": "exp(random() * 6)",
    "is_bot": "random() < 0.2",
    "referer": "(ARRAY['', '', 'https://www.baidu.com/s'])[1 + floor(random() * 3)]",
}
VISITS = """
(SELECT n, floor(100 * power(random(), 2))::int AS net, floor(250 * power(random(), 2))::int AS last
   FROM generate_series(1, %(requests)s) AS n) AS visits
"""


def readings(run: Run) -> Iterator[Reading]:
    """In a process with settings of its own, of which the access log is a part."""
    if run.product is not LOCQUEUE or not os.environ["BENCHMARK_DATABASE_URL"].startswith("postgres"):
        return
    command = [sys.executable, "-m", "benchmarks.analytics", str(run.scale.logged_requests)]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    for name, value in json.loads(done.stdout).items():
        yield Reading("analytics", name, "ms", value)


def configure() -> None:
    settings.configure(
        SECRET_KEY="for the benchmark only",  # noqa: S106
        USE_TZ=True,
        INSTALLED_APPS=[
            "django.contrib.auth",
            "django.contrib.contenttypes",
            "django_locqueue",
            "django_locqueue.accesslog",
        ],
        DATABASES={"default": environ.Env.db_url_config(os.environ["BENCHMARK_DATABASE_URL"])},
    )
    django.setup()


def fill(requests: int) -> None:
    from django.core.management import call_command
    from django.db import connection
    from django.utils import timezone

    from django_locqueue.accesslog.models import AccessLog, Location

    call_command("migrate", verbosity=0)
    Location.objects.bulk_create(
        Location(
            prefix=f"49.65.{net}.0/24",
            state=Location.State.LOCATED,
            country_code="CN" if net < 70 else "US",
            country="中国" if net < 70 else "美国",
            province=f"province {net % 34}",
            city=f"city {net}",
            isp=f"operator {net % 8}",
        )
        for net in range(100)
    )
    table = AccessLog._meta.db_table
    one = AccessLog.objects.create(hit_id="one", time=timezone.now(), method="GET", path="/", status=200, duration_ms=1)
    names = [str(field.column) for field in AccessLog._meta.concrete_fields if not field.primary_key]
    values = ", ".join(COLUMNS.get(name, f"one.{name}") for name in names)
    with connection.cursor() as cursor:
        # Built at the end: kept up row by row, they take ten times as long.
        cursor.execute("SELECT indexname, indexdef FROM pg_indexes WHERE tablename = %s", [table])
        indexes = [index for index in cursor.fetchall() if " UNIQUE " not in index[1]]
        for name, _definition in indexes:
            cursor.execute(f"DROP INDEX {name}")
        insert = f"INSERT INTO {table} ({', '.join(names)})"
        select = f"SELECT {values} FROM {table} AS one, {VISITS} WHERE one.id = %(one)s"  # noqa: S608
        cursor.execute(f"{insert} {select}", {"requests": requests, "one": one.pk})
        for _name, definition in indexes:
            cursor.execute(definition)
        cursor.execute(f"VACUUM ANALYZE {table}")


def measure(requests: int) -> dict[str, float]:
    """Return milliseconds by what took them."""
    from django.utils import timezone

    from django_locqueue.accesslog.analytics.days import add_up, days_to_add_up
    from django_locqueue.accesslog.analytics.period import Period
    from django_locqueue.accesslog.analytics.reading import overview, top
    from django_locqueue.accesslog.analytics.stale import mark_stale
    from django_locqueue.accesslog.analytics.tasks import count_stale_hours

    now = timezone.now()
    mark_stale(Period.last(24 * DAYS + 1, now).hours())
    started = time.perf_counter()
    hours = count_stale_hours()
    told = {f"count an hour of {requests // (24 * DAYS):,} requests": (time.perf_counter() - started) / hours * 1000}
    days_over = days_to_add_up(now)
    started = time.perf_counter()
    for day in days_over:
        add_up(day)
    told["add a day up"] = (time.perf_counter() - started) / len(days_over) * 1000
    for name, days in (("a day", 1), ("a week", 7), ("a month", DAYS)):
        period = Period.last(24 * days, now)
        started = time.perf_counter()
        overview(period, now)
        for dimension in DIMENSIONS:
            top(dimension, period)
        told[f"all numbers of {name}, of {requests:,} requests"] = (time.perf_counter() - started) * 1000
    return told


if __name__ == "__main__":
    configure()
    fill(int(sys.argv[1]))
    sys.stdout.write(json.dumps(measure(int(sys.argv[1]))))
