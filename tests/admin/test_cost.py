"""A page costs the same beside a million rows."""

import re
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext

from django_locqueue.admin.changelist import TaskChangeList
from django_locqueue.admin.paginator import CappedPaginator
from django_locqueue.models import FailedTask, PendingTask, Queue, RetriedTask, RunningTask, Task, Worker
from django_locqueue.observability.stats import capped_counts
from django_locqueue.statement_limit import TooSlow
from tests.admin.conftest import PAGES, all_urls, list_url, task_url

WIDE = ("args_kwargs", "return_value", "metadata", "log", "worker_ids", "traceback")

LISTS = [
    (PendingTask, "", "locqueue_task_ready"),
    (PendingTask, "?queue=mail", "locqueue_task_ready"),
    (PendingTask, "?tab=scheduled", "locqueue_task_scheduled"),
    (PendingTask, "?tab=scheduled&queue=mail", "locqueue_task_scheduled"),
    (RunningTask, "", "locqueue_task_running"),
    (FailedTask, "", "locqueue_task_open"),
    (FailedTask, "?queue=mail", "locqueue_task_open"),
    (PendingTask, "?tab=overdue", "locqueue_task_ready"),
    (PendingTask, "?tab=scheduled&due=today", "locqueue_task_scheduled"),
    (FailedTask, "?group=f1", "locqueue_task_error"),
    (FailedTask, "?last=1h&error=OSError&worker=w&q=send", "locqueue_task_open"),
    (FailedTask, "?tab=dismissed", "locqueue_task_finished"),
    (RetriedTask, "", "locqueue_task_scheduled"),
    (RetriedTask, "?tab=all", "locqueue_task_retried"),
    (RetriedTask, "?tab=by_hand", "locqueue_task_retried"),
    (RetriedTask, "?tab=succeeded", "locqueue_task_retried"),
    (RetriedTask, "?tab=failed", "locqueue_task_retried"),
    (Task, "", "primary key"),
    (Task, "?state=failed", "primary key"),
    (Task, "?tab=succeeded", "locqueue_task_finished"),
    (Task, "?tab=cancelled&last=1h", "locqueue_task_finished"),
    (Task, "?workflow=1", "locqueue_task_workflow"),
    (Task, "?workflow=1&state=failed", "locqueue_task_workflow"),
    (Task, "?queue=mail", "primary key"),
]


def page(client: Client, name: str, query: str = "") -> str:
    return client.get(list_url(name, query)).content.decode()


def queries_of(client: Client, url: str) -> list[str]:
    with CaptureQueriesContext(connection) as captured:
        assert client.get(url).status_code == 200, url
    sent = (query["sql"] for query in captured)
    # Inside a test's transaction that of a statement's limit is a savepoint; it reads nothing.
    return [sql for sql in sent if not sql.startswith(("SAVEPOINT", "RELEASE", "ROLLBACK", "SELECT SET_CONFIG"))]


def change_list(model: type[Task], query: str) -> Any:
    request = RequestFactory().get(f"/admin/{query}")
    request.user = User(is_superuser=True, is_active=True)
    return admin.site.get_model_admin(model).get_changelist_instance(request)


def plan_of(queryset: Any) -> str:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # A table of a few rows is always scanned; what is asked is whether the index could serve.
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute("SET LOCAL enable_bitmapscan = off")
        elif connection.vendor != "sqlite":
            pytest.skip("asks PostgreSQL and SQLite")
    return str(queryset.explain())


@pytest.mark.parametrize(("model", "query", "index"), LISTS)
class TestPlans:
    def test_a_list_is_read_from_its_index_in_order(
        self, model: type[Task], query: str, index: str, one_of_each: Any
    ) -> None:
        self.check(plan_of(change_list(model, query).queryset[:51]), index)

    def test_its_count_is_read_from_its_index(
        self, model: type[Task], query: str, index: str, one_of_each: Any
    ) -> None:
        self.check(plan_of(change_list(model, query).queryset.values("pk")[:10_001]), index)

    @staticmethod
    def check(plan: str, index: str) -> None:
        if index == "primary key":
            # SQLite's table is its primary key's index.
            assert "locqueue_task_pkey" in plan or plan.endswith("SCAN locqueue_task")
        else:
            assert index in plan
        assert "Sort" not in plan
        assert "TEMP B-TREE" not in plan


@pytest.mark.parametrize("page", PAGES)
def test_a_page_takes_at_most_eight_queries(page: str, root: Client, one_of_each: Any, kept_snapshot: None) -> None:
    assert len(queries_of(root, list_url(page))) <= 8


def test_the_task_page_takes_at_most_eight_queries(
    root: Client, one_of_each: dict[str, Task], kept_snapshot: None
) -> None:
    for task in one_of_each.values():
        assert len(queries_of(root, task_url(task))) <= 8


@pytest.mark.any_vendor
@pytest.mark.parametrize("page", PAGES)
def test_g2_more_rows_take_no_more_queries(page: str, root: Client, one_of_each: Any, make_task: Any) -> None:
    few = len(queries_of(root, list_url(page)))
    for number in range(10):
        for state in ("ready", "failed", "successful"):
            make_task(state, attempt=2, queue_name=f"q{number}")
        worker = Worker.objects.create(name=f"w{number}")
        Queue.objects.create(name=f"q{number}")
        make_task("running", worker=worker)
    assert len(queries_of(root, list_url(page))) == few


@pytest.mark.any_vendor
def test_no_page_asks_for_distinct_values(root: Client, one_of_each: dict[str, Task]) -> None:
    for url in all_urls(one_of_each):
        assert not [sql for sql in queries_of(root, url) if "DISTINCT" in sql.upper()]


@pytest.mark.any_vendor
def test_no_page_counts_without_a_limit(root: Client, one_of_each: dict[str, Task]) -> None:
    for url in all_urls(one_of_each):
        for sql in queries_of(root, url):
            if "COUNT(" in sql.upper() and "GROUP BY" not in sql:
                sql = re.sub(r"\(SELECT COUNT\(\*\) FROM locqueue_schedule[^()]*\)", "", sql)  # a few rows
                assert sql.count("COUNT(") == len(re.findall(r"LIMIT [$]?\d+", sql)), sql


@pytest.mark.any_vendor
def test_g7_no_list_reads_what_may_be_large(root: Client, one_of_each: dict[str, Task]) -> None:
    for url in all_urls(one_of_each):
        for sql in queries_of(root, url):
            bare = re.sub(r"(LEFT|RIGHT|SUBSTR|LENGTH|SUBSTRING)\([^()]*(\([^()]*\))?[^()]*\)", "", sql)
            read = bare.partition(" FROM ")[0]
            assert not [column for column in WIDE if f'"{column}"' in read], sql


@pytest.mark.any_vendor
@pytest.mark.parametrize(
    "query",
    [
        "?args_kwargs__contains=x",
        "?args_kwargs__icontains=x",
        "?return_value__startswith=x",
        "?error_message__regex=x",
        "?worker__name__startswith=w",
        "?task_path__contains=x",
        "?id__gt=1",
        "?enqueued_at__year=2026",
        "?state__exact=failed",
    ],
)
def test_conditions_that_tell_what_is_hidden_are_refused(query: str, root: Client, one_of_each: Any) -> None:
    lists = [page for page in PAGES if page != "overview"]  # which has no conditions
    assert {root.get(list_url(page, query)).status_code for page in lists} == {400}


@pytest.mark.any_vendor
@pytest.mark.parametrize("query", ["?_facets=True", "?all=", "?o=1", "?o=-2.3", "?p=999999", "?p=-1", "?p=x", "?e=1"])
def test_other_parameters_of_admin_cost_nothing(query: str, root: Client, one_of_each: Any) -> None:
    with CaptureQueriesContext(connection) as captured:
        assert {root.get(list_url(page, query), follow=True).status_code for page in PAGES} == {200}
    for sql in [query["sql"] for query in captured]:
        if 'FROM "locqueue_task"' in sql and "GROUP BY" not in sql:
            assert "LIMIT" in sql


def test_an_asked_for_order_is_ignored(one_of_each: Any) -> None:
    assert change_list(FailedTask, "?o=2").queryset.query.order_by == ("-finished_at", "-id")


def test_a_list_is_counted_up_to_the_cap(root: Client, make_task: Callable[..., Task], monkeypatch: Any) -> None:
    monkeypatch.setattr(CappedPaginator, "cap", 3)
    for _ in range(3):
        make_task("failed")
    assert "3 tasks" in root.get(list_url("failedtask")).content.decode()
    make_task("failed")
    assert "3+ tasks" in root.get(list_url("failedtask")).content.decode()


@pytest.mark.parametrize(
    ("page", "query", "state"),
    [
        ("pendingtask", "", "ready"),
        ("pendingtask", "?tab=scheduled", "scheduled"),
        ("failedtask", "", "failed"),
        ("task", "", "cancelled"),
    ],
)
def test_beyond_the_cap_a_list_goes_on(
    page: str, query: str, state: str, root: Client, make_task: Callable[..., Task], monkeypatch: Any
) -> None:
    monkeypatch.setattr(CappedPaginator, "cap", 2)
    made = {make_task(state, priority=n % 2).pk for n in range(7)}
    seen: list[int] = []
    url = list_url(page, query)
    while url:
        body = root.get(url).content.decode()
        seen += [int(found) for found in re.findall(r'name="_selected_action" value="(\d+)"', body)]
        further = re.search(r'href="(\?[^"]*behind=\d+[^"]*)">(Older|Later)', body)
        url = list_url(page, further[1].replace("&amp;", "&")) if further else ""
    assert len(seen) == len(set(seen))
    # What stands on no page is what the paginator counts but does not show; each page here has two of its rows.
    assert set(seen) == made


def test_a_condition_without_an_index_looks_at_the_first_rows(make_task: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(TaskChangeList, "window", 3)
    for number in range(6):
        make_task("failed", queue_name="old" if number < 2 else "new")
    found = change_list(FailedTask, "?queue=old")
    assert found.window_is_full
    assert found.result_list == []
    assert len(change_list(FailedTask, "?queue=new").result_list) == 3


def test_the_end_of_a_look_is_found_in_the_index(one_of_each: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(TaskChangeList, "window", 1)
    with CaptureQueriesContext(connection) as captured:
        change_list(FailedTask, "?queue=old")
    assert not [query["sql"] for query in captured if "ORDER BY 1" in query["sql"]]


def test_what_the_first_look_did_not_reach_is_a_click_away(make_task: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(TaskChangeList, "window", 3)
    made = [make_task("failed", queue_name="old" if number < 2 else "new").pk for number in range(6)]
    first = change_list(FailedTask, "?queue=old")
    assert [task.pk for task in change_list(FailedTask, first.further_url).result_list] == [made[1], made[0]]


def test_a_look_within_one_queue_ends_where_its_rows_do(make_task: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(TaskChangeList, "window", 2)
    for number in range(5):
        make_task("ready", priority=-number, task_path=f"shop.tasks.t{number}")
    assert [task.name for task in change_list(PendingTask, "?q=t").result_list] == ["t0", "t1"]


def test_ready_tasks_stand_in_the_order_in_which_workers_take_them(make_task: Callable[..., Task]) -> None:
    last, first, middle = (make_task("ready", priority=priority) for priority in (-5, 10, 0))
    assert [task.pk for task in change_list(PendingTask, "").queryset] == [first.pk, middle.pk, last.pk]


def test_several_counts_take_one_query(make_task: Callable[..., Task]) -> None:
    for _ in range(5):
        make_task("ready")
    rows = {"a": Task.objects.ready().order_by("id"), "b": Task.objects.failed().order_by("id")}
    with CaptureQueriesContext(connection) as captured:
        assert capped_counts(rows, cap=3) == {"a": 4, "b": 0}
    assert len(captured) == 1


def test_an_id_leads_to_its_task(root: Client, make_task: Callable[..., Task]) -> None:
    task = make_task("failed")
    for text in (str(task.pk), f"#{task.pk}", f" {task.pk} "):
        assert root.get(list_url("pendingtask"), {"q": text})["Location"] == task_url(task)


@pytest.mark.parametrize("text", ["999999", "9" * 18])
def test_an_id_of_no_task_is_said_to_be_none(text: str, root: Client, one_of_each: Any) -> None:
    assert "No task has this id." in root.get(list_url("task"), {"q": text}).content.decode()


@pytest.mark.parametrize("text", ["gone", "9" * 30, "x" * 10_000, "%", "1;2", "٣", "queue:m%l", "\x00"])
def test_other_words_find_nothing(text: str, root: Client, make_task: Callable[..., Task]) -> None:
    make_task("ready", queue_name="mail")
    body = root.get(list_url("pendingtask"), {"q": text}).content.decode()
    assert ("No pending task matches." in body) == (text != "\x00")


def test_a_word_finds_the_tasks_whose_name_begins_with_it(make_task: Callable[..., Task]) -> None:
    meant = make_task("ready", task_path="shop.tasks.pay_all")
    make_task("ready", task_path="shop.tasks.repay")
    assert [task.pk for task in change_list(PendingTask, "?q=pay").result_list] == [meant.pk]


def test_a_search_that_takes_too_long_says_how_to_narrow_it(root: Client, monkeypatch: Any) -> None:
    @contextmanager
    def limited(alias: str, seconds: float) -> Any:
        yield
        raise TooSlow

    monkeypatch.setattr("django_locqueue.admin.changelist.statement_limit", limited)
    assert "This search took too long. Narrow it by queue, task or time." in page(root, "failedtask", "?q=x")
