"""What a selection means is the same for a page, a command and a bulk operation."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from django_locqueue.models import ErrorGroup
from django_locqueue.models.listing import LISTINGS
from django_locqueue.store.selection import Selection
from tests.store.plans import forget_statistics
from tests.store.rows import NOW, ago, later, put


def found(listing: str = "all", **conditions: Any) -> list[int]:
    return [task.pk for task in Selection(listing, **conditions).rows()]


@pytest.mark.django_db
class TestRows:
    @pytest.mark.parametrize(
        ("condition", "columns"),
        [
            ({"queue": "mail"}, {"queue_name": "mail"}),
            ({"task": "shop.tasks.pay"}, {"task_path": "shop.tasks.pay"}),
            ({"error": "OSError"}, {"error_class": "builtins.OSError"}),
            ({"error": "builtins.OSError"}, {"error_class": "builtins.OSError"}),
            ({"group": "f1"}, {"error_group_id": "f1"}),
            ({"state": "cancelled"}, {"state": "cancelled"}),
            ({"priority": "high"}, {"priority": 1}),
            ({"priority": "low"}, {"priority": -1}),
            ({"since": ago(hours=1)}, {"enqueued_at": NOW}),
            ({"until": ago(days=1)}, {"enqueued_at": ago(days=2)}),
            ({"retried_by_hand": True}, {"retried_by": "alice"}),
            ({"search": "pay"}, {"task_path": "shop.tasks.pay_all"}),
            ({"search": "task:shop.p"}, {"task_path": "shop.payments.x"}),
            ({"search": "queue:mai"}, {"queue_name": "mail"}),
            ({"search": "worker:web-2"}, {"worker_ids": "web-1:1\nweb-2:9\n"}),
            ({"search": "error:OSE"}, {"error_class": "builtins.OSError"}),
            ({"search": "queue:mail pay"}, {"queue_name": "mail", "task_path": "shop.tasks.pay"}),
        ],
    )
    def test_each_condition_leaves_what_it_names(self, condition: dict[str, Any], columns: dict[str, Any]) -> None:
        usual = {"enqueued_at": ago(hours=5)}
        put("ready", **usual)
        meant = put(**{"state": "ready", **usual, **columns})
        assert found(**condition) == [meant]

    @pytest.mark.parametrize("worker_ids", ["web-1:4", "web-1:4\n", "a\nweb-1:4", "a\nweb-1:4\n", "web-1:4\nb\n"])
    def test_a_worker_is_one_of_those_that_tried_it(self, worker_ids: str) -> None:
        put("ready", worker_ids="web-1:48\n")
        put("ready", worker_ids="x-web-1:4\n")
        tried = put("ready", worker_ids=worker_ids)
        assert found(worker="web-1:4") == [tried]

    def test_conditions_add_up(self) -> None:
        put("ready", queue_name="mail", priority=1)
        put("ready", queue_name="other", task_path="shop.tasks.pay")
        both = put("ready", queue_name="mail", task_path="shop.tasks.pay")
        assert found("ready", queue="mail", task="shop.tasks.pay") == [both]

    def test_the_upper_id_leaves_out_what_came_later(self) -> None:
        first, _ = put("ready"), put("ready")
        assert found("ready", upper_id=first) == [first]

    def test_failed_tasks_are_those_that_somebody_minds(self) -> None:
        minded, dismissed = put("failed", finished_at=NOW), put("failed", finished_at=NOW, dismissed=True)
        assert found("failed") == [minded]
        assert found("dismissed") == [dismissed]

    def test_overdue_is_what_could_have_begun_five_minutes_ago(self) -> None:
        now = timezone.now()
        long_ago, lately = now - timedelta(minutes=6), now - timedelta(minutes=4)
        put("ready", run_after=lately, enqueued_at=long_ago)
        put("ready", run_after=long_ago, enqueued_at=lately)
        overdue = put("ready", run_after=long_ago, enqueued_at=long_ago)
        assert found("overdue") == [overdue]

    def test_a_period_is_of_the_listings_time(self) -> None:
        put("failed", finished_at=ago(hours=2), enqueued_at=NOW)
        late = put("failed", finished_at=ago(minutes=2), enqueued_at=ago(days=9))
        assert found("failed", since=ago(hours=1)) == [late]
        put("scheduled", run_after=later(days=2))
        soon = put("scheduled", run_after=later(hours=2))
        assert found("scheduled", until=later(days=1)) == [soon]

    @pytest.mark.parametrize("name", LISTINGS)
    def test_a_listing_stands_in_its_order(self, name: str) -> None:
        for state in ("ready", "scheduled", "running", "failed"):
            for number in range(3):
                put(state, attempt=2, finished_at=ago(hours=number), priority=number % 2, worker_id=number + 1)
        assert found(name) == [task.pk for task in Selection(name).rows().order_by(*LISTINGS[name].ordering)]

    def test_what_is_listed_and_matches_is_what_is_meant(self) -> None:
        meant = put("failed", finished_at=NOW, queue_name="mail")
        put("failed", finished_at=NOW)
        selection = Selection("failed", queue="mail")
        assert [task.pk for task in selection.matching(selection.listed())] == [meant]
        assert selection.listed().count() == 2

    def test_a_kind_of_error_is_read_from_its_index(self) -> None:
        if connection.vendor == "mysql":
            pytest.skip("asks PostgreSQL and SQLite")
        ErrorGroup.objects.create(fingerprint="f1", error_class="builtins.OSError")
        put("failed", finished_at=NOW, error_group_id="f1")
        if connection.vendor == "postgresql":
            forget_statistics(analyse=False)  # of other tests' tasks
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL enable_seqscan = off")
                cursor.execute("SET LOCAL enable_bitmapscan = off")
        plan = str(Selection("failed", group="f1").rows()[:51].explain())
        assert "locqueue_task_error" in plan
        assert "Sort" not in plan
        assert "TEMP B-TREE" not in plan


class TestText:
    SELECTION = Selection(
        "failed", queue="mail", error="OSError", since=NOW, until=later(hours=1), retried_by_hand=False, upper_id=7
    )

    def test_it_survives_json(self) -> None:
        assert Selection.from_json(self.SELECTION.as_json()) == self.SELECTION

    def test_json_has_what_was_asked_for_and_no_more(self) -> None:
        assert Selection("ready", queue="mail").as_json() == {"listing": "ready", "queue": "mail"}

    @pytest.mark.parametrize("stored", [{}, {"listing": "gone"}, {"listing": "ready", "x": 1}])
    def test_json_of_something_else_is_refused(self, stored: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match="listing"):
            Selection.from_json(stored)

    @pytest.mark.parametrize(
        ("query", "meant"),
        [
            ({}, {}),
            ({"tab": "x", "p": "2"}, {}),  # the page's own
            ({"q": " task:send "}, {"search": "task:send"}),
            ({"by_hand": "no"}, {"retried_by_hand": False}),
            ({"last": "1h"}, {"since": ago(hours=1)}),
            ({"last": "all"}, {}),
            ({"last": "7d", "since": "2026-03-01T00:00:00+00:00"}, {"since": datetime.fromisoformat("2026-03-01T00Z")}),
            ({"until": "2026-03-01"}, {"until": datetime.fromisoformat("2026-03-01T00Z")}),
            ({"due": "now"}, {"until": NOW}),
            ({"due": "1h"}, {"until": later(hours=1)}),
            ({"due": "today"}, {"until": datetime.fromisoformat("2026-03-05T00Z")}),
            ({"due": "later"}, {"since": datetime.fromisoformat("2026-03-05T00Z")}),
            ({"queue": "a\x00b"}, {"queue": "ab"}),
        ],
    )
    def test_an_address_says_what_is_meant(self, query: dict[str, str], meant: dict[str, Any]) -> None:
        assert Selection.from_query(query, listing="failed", now=lambda: NOW) == Selection("failed", **meant)

    def test_all_tasks_are_those_of_a_day_unless_something_narrower_is_asked_for(self) -> None:
        assert Selection.from_query({"listing": "all"}, now=lambda: NOW).since == ago(days=1)
        for query in ({"last": "all"}, {"q": "send"}, {"workflow": "3"}):
            assert Selection.from_query({"listing": "all", **query}, now=lambda: NOW).since is None

    @pytest.mark.parametrize(
        "query",
        [
            {"listing": "x"},
            {"state": "lost"},
            {"priority": "urgent"},
            {"last": "1y"},
            {"due": "x"},
            {"since": "yesterday"},
            {"until": "2026-13-40"},
            {"by_hand": "maybe"},
            {"workflow": "x"},
            {"upper_id": "9" * 20},
            {"queue": "q" * 300},
        ],
    )
    def test_what_cannot_be_meant_is_refused_with_its_name(self, query: dict[str, str]) -> None:
        (name,) = query
        with pytest.raises(ValueError, match=f"^{name} must be"):
            Selection.from_query({"listing": "ready"} | query)

    def test_a_search_that_is_too_long_is_cut(self) -> None:
        assert len(Selection.from_query({"q": "x" * 10_000}, listing="ready").search) == 200
