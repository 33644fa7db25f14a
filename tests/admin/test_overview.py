"""The overview: what it counts, where its numbers lead, and what it costs."""

import json
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_locqueue import clock
from django_locqueue.models import ErrorCount, ErrorGroup, Queue, Task, TaskStat, Worker
from django_locqueue.observability.history import shared_history
from django_locqueue.observability.snapshot import snapshot
from tests.admin.conftest import list_url, task_url

pytestmark = pytest.mark.any_vendor

PAGE = list_url("overview")
DATA = list_url("overview", "data.json")


def body_of(client: Client, query: str = "") -> str:
    return client.get(PAGE + query).content.decode()


def cards_of(body: str) -> dict[str, tuple[str, str, str]]:
    """Return address, number and note of each card, by its label."""
    found = re.findall(
        r'lq-card-label">([^<]*)</span>\s*<span class="lq-card-value[^>]*><a href="([^"]*)">([^<]*)</a></span>'
        r'\s*<span class="lq-quiet">([^<]*)<',
        body,
    )
    return {label: (url, number, note) for label, url, number, note in found}


def put_stat(queue: str = "default", **counts: Any) -> None:
    start = clock.floor(clock.storable(timezone.now()), 60)
    made = {"seconds": TaskStat.MINUTE, "task_path": "shop.tasks.send", **counts}
    TaskStat.objects.create(start=start, queue_name=queue, **made)


@pytest.fixture
def group(db: None) -> ErrorGroup:
    now = timezone.now()
    made: ErrorGroup = ErrorGroup.objects.create(
        fingerprint="a" * 40, error_class="builtins.OSError", message="disk <str>", task_path="shop.tasks.send"
    )
    ErrorCount.objects.create(group=made, hour=clock.floor(clock.storable(now), 3600), count=14)
    return made


def test_an_empty_installation_says_what_to_do_first(root: Client) -> None:
    body = body_of(root)
    assert "No tasks yet." in body
    assert "my_task.enqueue()" in body
    assert "python manage.py runqueue" in body


def test_each_card_leads_to_what_it_counts(root: Client, one_of_each: dict[str, Task]) -> None:
    put_stat(succeeded=51_200)
    cards = cards_of(body_of(root))
    assert list(cards) == ["Ready", "Scheduled", "Running", "Waiting to retry", "Failed", "Succeeded"]
    assert cards["Ready"][:2] == (f"{list_url('pendingtask')}?tab=ready", "1")
    assert cards["Running"][1:] == ("1 of 4", "slots busy")
    assert cards["Failed"][1:] == ("1", "+1 this hour")
    assert cards["Succeeded"][1] == "51.2K"
    for url, _, _ in cards.values():
        assert root.get(url.replace("&amp;", "&")).status_code == 200


def test_the_failed_card_is_red_only_when_something_failed(root: Client, make_task: Callable[..., Task]) -> None:
    make_task("successful")
    assert "lq-card-value lq-err" not in body_of(root)
    make_task("failed")
    assert "lq-card-value lq-err" in body_of(root)


def test_the_chart_shows_what_ended_in_each_bar_and_as_a_table(root: Client, make_task: Any) -> None:
    make_task()
    put_stat(succeeded=7, failed=3, wait_5=10, run_6=10)
    body = body_of(root)
    assert "Finished per minute" in body
    assert "7 succeeded · 3 failed · not over yet" in re.sub(r"\s+", " ", body)
    succeeded, failed = re.findall(r'<td class="lq-number"><a href="([^"]*)">(?:7|3)</a></td>', body)
    assert [url.partition("&amp;until=")[0].partition("?")[0] for url in (succeeded, failed)] == [
        list_url("task"),
        list_url("failedtask"),
    ]


def test_a_bar_leads_to_the_tasks_that_ended_then(root: Client, make_task: Any) -> None:
    task = make_task("successful")
    make_task("successful", finished_at=timezone.now() - timedelta(hours=2))
    put_stat(succeeded=1)
    url = re.findall(r'<td class="lq-number"><a href="([^"]*)">1</a></td>', body_of(root))[0].replace("&amp;", "&")
    assert re.findall(r"/task/(\d+)/change/", root.get(url).content.decode()) == [str(task.pk)]


def test_a_period_in_which_nothing_ended_says_so(root: Client, make_task: Any) -> None:
    make_task()
    assert "Nothing finished in this period." in body_of(root)


@pytest.mark.parametrize(
    ("period", "title"),
    [("15m", "Finished per minute"), ("24h", "Finished per hour"), ("7d", "Finished per 6 hours")],
)
def test_bars_are_as_long_as_the_period_asks(root: Client, make_task: Any, period: str, title: str) -> None:
    make_task()
    put_stat(succeeded=1)
    put_stat(seconds=TaskStat.HOUR, succeeded=1)
    TaskStat.objects.filter(seconds=TaskStat.HOUR).update(start=clock.floor(clock.storable(timezone.now()), 3600))
    assert title in body_of(root, f"?period={period}")


def test_one_queue_is_looked_at_by_itself(root: Client, make_task: Callable[..., Task]) -> None:
    failed = [make_task("failed", queue_name=name) for name in ("mail", "other")]
    make_task("ready", queue_name="mail")
    put_stat("mail", succeeded=5)
    put_stat("other", succeeded=100)
    body = body_of(root, "?queue=mail")
    cards = cards_of(body)
    assert (cards["Ready"][1], cards["Succeeded"][1]) == ("1", "5")
    assert "queue=mail" in cards["Ready"][0]
    assert task_url(failed[0]) in body
    assert task_url(failed[1]) not in body


@pytest.mark.parametrize("query", ["?period=nonsense", "?queue=nobody", "?period=", "?queue=%00", "?x=1"])
def test_what_is_not_known_is_left_out(root: Client, make_task: Any, query: str) -> None:
    make_task()
    assert root.get(PAGE + query).status_code == 200


def test_failures_are_listed_by_error_and_all_of_a_kind_can_be_retried(
    root: Client, group: Any, make_task: Any
) -> None:
    make_task("failed", error_group=group)
    body = body_of(root)
    assert "OSError</span>: disk &lt;str&gt;" in body
    assert '<td class="lq-number">14</td>' in body
    [url] = re.findall(r'href="([^"]*bulkoperation/new[^"]*)">Retry all', body)
    assert "Retry 1 task?" in root.get(url.replace("&amp;", "&")).content.decode()


def test_who_may_only_look_is_offered_nothing(person: Callable[..., Client], group: Any, make_task: Any) -> None:
    make_task("failed", error_group=group)
    assert "Retry all" not in body_of(person("view_task"))


def test_the_slowest_tasks_come_first(root: Client, make_task: Any) -> None:
    make_task()
    put_stat(task_path="shop.tasks.quick", succeeded=5, run_3=5)
    put_stat(task_path="shop.tasks.slow", succeeded=5, run_10=5)
    rows = re.findall(r">(quick|slow)</a>", body_of(root).partition("Slowest tasks")[2])
    assert rows == ["slow", "quick"]


def test_it_says_how_long_tasks_are_kept(root: Client, make_task: Any) -> None:
    make_task()
    assert "Finished tasks are kept 7 days, failed ones 30 days." in body_of(root)


def test_it_takes_as_many_queries_however_much_there_is(
    root: Client, group: ErrorGroup, make_task: Callable[..., Task], kept_snapshot: None
) -> None:
    make_task("failed", error_group=group)
    put_stat(succeeded=1, run_3=1)
    snapshot(fresh=True)
    with CaptureQueriesContext(connection) as few:
        body_of(root)
    for number in range(20):
        Queue.objects.create(name=f"q{number}")
        make_task("failed", task_path=f"shop.tasks.t{number}")
        put_stat(f"q{number}", task_path=f"shop.tasks.t{number}", succeeded=1, run_3=1)
        ErrorGroup.objects.create(fingerprint=f"{number:040}", error_class="builtins.OSError", last_seen=timezone.now())
    with CaptureQueriesContext(connection) as shared:
        body_of(root)
    shared_history.cache_clear()
    with CaptureQueriesContext(connection) as many:
        body_of(root)
    assert len(many) == len(few) <= 8
    assert len(shared) == len(few) - 2  # one open tab more


class TestJson:
    def test_it_tells_the_same(self, root: Client, one_of_each: dict[str, Task], group: ErrorGroup) -> None:
        put_stat(succeeded=7, failed=3)
        response = root.get(DATA, {"period": "15m"})
        assert "no-store" in response["Cache-Control"]
        found = json.loads(response.content)
        totals = found["totals"]
        assert (found["period"], totals["ready"], totals["running"], totals["failed"]) == ("15m", 1, 1, 1)
        assert len(found["bars"]) == 15
        assert (found["bars"][-1]["succeeded"], found["bars"][-1]["is_over"]) == (7, False)
        assert found["total"]["failed"] == 3
        assert found["errors"][0]["count"] == 14
        assert found["recent_failures"][0]["id"] == one_of_each["failed"].pk

    def test_secrets_are_masked_as_on_the_page(self, root: Client, make_task: Any) -> None:
        make_task("failed", error_message="postgres://bob:hunter2@db/shop")
        assert "hunter2" not in root.get(DATA).content.decode()
        assert "hunter2" not in body_of(root)

    def test_it_asks_for_the_permission_of_the_page(self, person: Callable[..., Client]) -> None:
        assert person().get(DATA).status_code == 403
        assert person("view_task").get(DATA).status_code == 200

    def test_nothing_is_posted_there(self, root: Client) -> None:
        assert {root.post(url).status_code for url in (DATA, PAGE)} == {405}


def test_the_page_stands_first(root: Client, worker: Worker) -> None:
    strip = body_of(root).partition('class="lq-strip"')[2]
    assert strip.index(PAGE) < strip.index(list_url("pendingtask"))


def test_an_error_that_was_met_before_the_period_is_not_shown(root: Client, group: ErrorGroup, make_task: Any) -> None:
    make_task()
    ErrorGroup.objects.update(last_seen=timezone.now() - timedelta(hours=2))
    assert "Nothing failed in this period." in body_of(root)
    assert "disk" in body_of(root, "?period=24h")
