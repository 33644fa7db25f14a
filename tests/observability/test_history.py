"""What pages show of what has ended: summed up from the buckets."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from django_locqueue.models import ErrorCount, TaskStat
from django_locqueue.observability.history import PERIODS, Failures, failures, history
from tests.store.rows import PATH

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
MINUTE = NOW.replace(second=0)
HOUR = MINUTE.replace(minute=0)


def bucket(start: datetime, seconds: int = TaskStat.MINUTE, queue: str = "mail", path: str = PATH, **sums: Any) -> None:
    TaskStat.objects.create(start=start, seconds=seconds, queue_name=queue, task_path=path, **sums)


def test_a_bar_for_each_minute_of_a_quarter_of_an_hour_the_last_of_which_is_not_over():
    bucket(MINUTE, succeeded=1)
    bucket(MINUTE - timedelta(minutes=14), succeeded=5, failed=1, retried=2, cancelled=3)
    bucket(MINUTE - timedelta(minutes=15), succeeded=100)
    found = history("15m", now=NOW)
    assert [bar.start for bar in found.bars] == [MINUTE - timedelta(minutes=passed) for passed in range(14, -1, -1)]
    assert [bar.is_over for bar in found.bars] == [True] * 14 + [False]
    first = found.bars[0]
    assert (first.succeeded, first.failed, first.retried, first.cancelled) == (5, 1, 2, 3)
    assert [bar.succeeded for bar in found.bars[1:]] == [0] * 13 + [1]
    assert found.total.succeeded == 6
    assert found.per_minute(found.total) == pytest.approx(60 * 10 / (14 * 60 + 7))


@pytest.mark.parametrize(
    ("period", "count", "span", "start"),
    [
        ("1h", 60, TaskStat.MINUTE, MINUTE - timedelta(minutes=59)),
        ("24h", 24, TaskStat.HOUR, HOUR - timedelta(hours=23)),
        ("7d", 28, TaskStat.HOUR, datetime(2026, 2, 25, 6, tzinfo=UTC)),
    ],
)
def test_longer_periods_have_longer_bars(period: str, count: int, span: int, start: datetime):
    bucket(start, seconds=span, succeeded=1)
    bucket(start + timedelta(seconds=span), seconds=span, succeeded=2)
    bucket(start - timedelta(seconds=span), seconds=span, succeeded=100)
    bucket(start, seconds=TaskStat.DAY, succeeded=100)
    found = history(period, now=NOW)
    assert len(found.bars) == count
    assert found.bars[0].start == start
    assert found.total.succeeded == 3
    assert sum(bar.succeeded for bar in found.bars) == 3


def test_queues_and_tasks_are_summed_up_each_and_one_queue_alone_if_asked():
    bucket(MINUTE, succeeded=1, queue="mail", path="a.b")
    bucket(MINUTE, succeeded=2, queue="mail", path="c.d")
    bucket(MINUTE, succeeded=4, queue="slow", path="c.d")
    found = history("1h", now=NOW)
    assert {name: each.succeeded for name, each in found.queues.items()} == {"mail": 3, "slow": 4}
    assert {path: each.succeeded for path, each in found.tasks.items()} == {"a.b": 1, "c.d": 6}
    alone = history("1h", "mail", now=NOW)
    assert (alone.total.succeeded, alone.tasks["c.d"].succeeded) == (3, 2)


def test_percentiles_come_from_the_bins_of_all_buckets():
    bucket(MINUTE, wait_0=90, run_6=50)
    bucket(MINUTE - timedelta(minutes=1), wait_6=10, run_8=50)
    total = history("1h", now=NOW).total
    assert 0 < (total.wait_p50 or 0) < 0.001
    assert 0.3 < (total.wait_p95 or 0) <= 1
    assert total.run_p50 == 1
    assert 3 < (total.run_p95 or 0) <= 10


def test_where_nothing_ended_there_are_bars_and_no_percentiles():
    found = history("24h", now=NOW)
    assert len(found.bars) == 24
    assert found.total.finished == 0
    assert found.total.wait_p95 is None
    assert found.queues == {}


@pytest.mark.parametrize("period", PERIODS)
def test_a_history_takes_three_statements(period: str, django_assert_num_queries: Any):
    for minutes in range(5):
        bucket(MINUTE - timedelta(minutes=minutes), queue=f"q{minutes}", path=f"a.t{minutes}", succeeded=1)
    with django_assert_num_queries(3):
        history(period)


def test_failures_are_counted_by_the_hours_that_reach_into_a_time():
    for hours, count in ((0, 1), (1, 2), (2, 4), (24, 8), (25, 16), (7 * 24, 32), (7 * 24 + 1, 64)):
        ErrorCount.objects.create(group_id="a" * 40, hour=HOUR - timedelta(hours=hours), count=count)
    found = failures(["a" * 40, "b" * 40], now=NOW)
    assert found == {"a" * 40: Failures(hour=3, day=15, week=63), "b" * 40: Failures()}
