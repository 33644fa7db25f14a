"""All tasks that match are changed by a page that says how many, asks why, and hands it to the workers."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_locqueue.admin.bulk_operations import standing_of
from django_locqueue.admin.bulk_request import Asked
from django_locqueue.models import Activity, BulkOperation, Queue, Task
from django_locqueue.store import Store, store_for
from django_locqueue.store.selection import Selection
from tests.admin.conftest import list_url
from tests.store.rows import put_many

pytestmark = pytest.mark.any_vendor

NEW = list_url("bulkoperation", "new/")
RETRY = f"{NEW}?listing=failed&verb=retry"


@pytest.fixture
def failed(db: None) -> None:
    put_many(14, "failed", finished_at=timezone.now() - timedelta(minutes=1), task_path="shop.tasks.send_receipt")
    put_many(2, "failed", finished_at=timezone.now() - timedelta(minutes=1), queue_name="mail")


def signed(client: Client, url: str = RETRY) -> str:
    found = re.search(r'name="asked" value="([^"]+)"', client.get(url).content.decode())
    assert found
    return found[1]


def ask(client: Client, url: str = RETRY, **fields: Any) -> Any:
    return client.post(url, {"asked": signed(client, url), **fields}, follow=True)


class TestAsking:
    def test_the_page_says_how_many_and_which(self, root: Client, failed: None) -> None:
        body = root.get(f"{RETRY}&q=send_receipt").content.decode()
        assert "<h1>Retry 14 tasks?</h1>" in body
        assert "send_receipt: 14" in body
        assert "Failed tasks · found by send_receipt" in body
        assert "Yes, retry 14 tasks" in body
        assert "If a task is not safe to run twice, do not retry it." in body

    def test_a_cap_can_be_chosen(self, root: Client, failed: None) -> None:
        body = ask(root, most="5").content.decode()
        assert BulkOperation.objects.get().most == 5
        assert "0 of 5+" in body
        assert "Retrying 5 tasks in the background." in body
        assert re.search(r"At most in all</dt><dd>5<", body)

    def test_looking_changes_nothing(self, root: Client, failed: None) -> None:
        root.get(RETRY)
        assert not BulkOperation.objects.exists()
        assert not Activity.objects.exists()

    def test_confirmed_it_is_left_to_the_workers(self, root: Client, failed: None) -> None:
        response = ask(root, reason="SMTP is back", rate="100", fresh_attempts="1")
        operation = BulkOperation.objects.get()
        assert response.redirect_chain == [(list_url("bulkoperation", f"{operation.pk}/change/"), 302)]
        assert "Retrying 16 tasks in the background." in response.content.decode()
        assert "Waiting for a worker" in response.content.decode()
        assert (operation.verb, operation.selection, operation.matched) == ("retry", {"listing": "failed"}, 16)
        assert (operation.user_id, operation.user_name) == (str(User.objects.get().pk), "root")
        assert (operation.reason, operation.rate) == ("SMTP is back", 100)
        assert operation.options == {"fresh_attempts": True}
        assert Task.objects.failed().count() == 16

    def test_who_asked_from_where_and_for_what_is_written_down(self, root: Client, failed: None) -> None:
        ask(root, reason="SMTP is back")
        activity = Activity.objects.get()
        assert (activity.verb, activity.user_name, activity.source) == ("bulk_start", "root", "127.0.0.1")
        assert (activity.selection, activity.matched, activity.reason) == ({"listing": "failed"}, 16, "SMTP is back")

    def test_what_is_confirmed_is_what_was_shown(self, root: Client, failed: None) -> None:
        shown = signed(root)
        put_many(3, "failed", finished_at=timezone.now())
        root.post(f"{RETRY}&queue=mail", {"asked": shown})
        operation = BulkOperation.objects.get()
        assert (operation.matched, operation.selection) == (16, {"listing": "failed"})
        assert store_for("default").bulk_tasks(operation).count() == 16

    def test_a_page_that_was_not_ours_is_refused(self, root: Client, failed: None) -> None:
        response = root.post(RETRY, {"asked": "WyJkZWxldGUiXQ:1x:forged"}, follow=True)
        assert "Nothing was changed: this page was too old." in response.content.decode()
        assert not BulkOperation.objects.exists()

    def test_many_are_only_changed_when_their_number_was_typed(
        self, root: Client, failed: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("django_locqueue.admin.bulk_form.TYPED_ABOVE", 10)
        assert "Type the number to confirm" in root.get(RETRY).content.decode()
        for typed in ({}, {"typed": "15"}, {"typed": "yes"}):
            assert "Type the number of tasks: 16." in ask(root, **typed).content.decode()
        assert not BulkOperation.objects.exists()
        ask(root, typed="16")
        assert BulkOperation.objects.exists()

    @pytest.mark.parametrize(
        ("fields", "problem"),
        [
            ({"start_at": "2020-01-01T10:00"}, "This time has passed."),
            ({"rate": "0"}, "greater than or equal to 1"),
            ({"rate": "fast"}, "Enter a whole number."),
            ({"reason": "x" * 300}, "at most 200 characters"),
        ],
    )
    def test_what_is_wrong_is_said_on_the_page(self, root: Client, failed: None, fields: Any, problem: str) -> None:
        assert problem in ask(root, **fields).content.decode()
        assert not BulkOperation.objects.exists()

    def test_it_may_begin_later(self, root: Client, failed: None) -> None:
        tomorrow = timezone.localtime(timezone.now() + timedelta(days=1)).replace(second=0, microsecond=0)
        body = ask(root, start="at", start_at=f"{tomorrow:%Y-%m-%dT%H:%M}").content.decode()
        assert BulkOperation.objects.get().next_at == tomorrow
        assert "Begins in" in body

    @pytest.mark.parametrize(
        ("verb", "field", "value", "options"),
        [
            ("change_priority", "priority", "0", {"priority": 0}),
            ("change_priority", "priority", "200", None),
            ("change_priority", "priority", "", None),
            ("move", "queue_name", "nowhere", None),
        ],
    )
    def test_what_the_change_needs_is_asked_for_and_checked(
        self, root: Client, verb: str, field: str, value: str, options: Any
    ) -> None:
        put_many(2, "ready")
        ask(root, f"{NEW}?listing=ready&verb={verb}", **{field: value})
        assert [operation.options for operation in BulkOperation.objects.all()] == (
            [] if options is None else [options]
        )

    @pytest.mark.parametrize("query", ["", "&queue=mail"])
    def test_so_many_that_a_page_cannot_count_them_are_left_to_a_worker_to_count(
        self, query: str, root: Client, failed: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("django_locqueue.admin.bulk_request.COUNTED", 5)
        monkeypatch.setattr("django_locqueue.admin.bulk_request.WINDOW", 10)
        body = root.get(f"{RETRY}{query}").content.decode()
        assert f"There are many: {2 if query else 5}+ were counted so far." in body
        ask(root, f"{RETRY}{query}")
        operation = store_for("default").take_bulk()
        assert operation is not None
        assert operation.matched == 0
        assert store_for("default").count_bulk(operation) == (2 if query else 16)
        assert BulkOperation.objects.get().matched == (2 if query else 16)

    def test_where_nothing_matches_there_is_nothing_to_confirm(self, root: Client) -> None:
        body = root.get(RETRY).content.decode()
        assert "No task matches." in body
        assert 'name="asked"' not in body

    def test_the_same_is_not_begun_twice(self, root: Client, failed: None) -> None:
        ask(root)
        assert "This is being done already." in root.get(RETRY).content.decode()
        assert "This is being done already." in ask(root).content.decode()
        assert BulkOperation.objects.count() == 1

    def test_a_form_that_is_sent_twice_at_once_begins_one_operation(
        self, root: Client, failed: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        form = signed(root)
        nonce = Asked.from_signed(form).nonce

        def other_request(store: Any, verb: str, selection: Selection, options: Any) -> None:
            store.add_bulk(verb, selection, by="alice", matched=16, nonce=nonce)

        monkeypatch.setattr(Store, "unfinished_bulk", other_request)
        body = root.post(NEW, {"asked": form}, follow=True).content.decode()
        assert "This is being done already." in body
        assert BulkOperation.objects.count() == 1
        assert not Activity.objects.exists()

    @pytest.mark.parametrize(
        "query", ["", "?verb=retry", "?listing=failed", "?listing=failed&verb=explode", "?listing=x&verb=retry"]
    )
    def test_an_address_that_asks_for_nothing_is_refused(self, root: Client, query: str) -> None:
        assert root.get(f"{NEW}{query}").status_code == 400

    def test_it_takes_few_queries_however_many_match(self, root: Client, failed: None, kept_snapshot: None) -> None:
        with CaptureQueriesContext(connection) as few:
            root.get(RETRY)
        put_many(500, "failed", finished_at=timezone.now() - timedelta(minutes=1))
        with CaptureQueriesContext(connection) as many:
            root.get(RETRY)
        assert len(few) == len(many) <= 10


PEOPLE = [
    ((), False),
    (("view_task",), False),
    (("view_task", "bulk_task"), False),
    (("view_task", "retry_task"), False),
]


class TestPermissions:
    @pytest.mark.parametrize(("codenames", "may"), [*PEOPLE, (("bulk_task", "retry_task", "view_task"), True)])
    def test_asking_takes_the_permission_for_the_change_and_for_many(
        self, codenames: Any, may: bool, root: Client, person: Callable[..., Client], failed: None
    ) -> None:
        shown = signed(root)
        client = person(*codenames)
        assert client.get(RETRY).status_code == (200 if may else 403)
        assert client.post(RETRY, {"asked": shown}).status_code == (302 if may else 403)
        assert BulkOperation.objects.exists() == may

    @pytest.mark.parametrize(("codenames", "may"), [*PEOPLE, (("bulk_task", "retry_task", "view_task"), True)])
    def test_stopping_takes_the_same(
        self, codenames: Any, may: bool, person: Callable[..., Client], operation: BulkOperation
    ) -> None:
        url = list_url("bulkoperation", f"{operation.pk}/stop/")
        assert person(*codenames).post(url).status_code == (302 if may else 403)
        assert (BulkOperation.objects.get().state == "stopped") == may

    @pytest.mark.parametrize("codename", ["view_bulkoperation", "bulk_task"])
    def test_a_second_person_sees_it(
        self, codename: str, person: Callable[..., Client], operation: BulkOperation
    ) -> None:
        client = person(codename)
        assert "alice" in client.get(list_url("bulkoperation")).content.decode()
        body = client.get(list_url("bulkoperation", f"{operation.pk}/change/")).content.decode()
        assert "SMTP is back" in body
        assert "stop/" not in body  # who may not ask for it may not stop it

    def test_a_secret_in_the_reason_is_masked(self, root: Client, operation: BulkOperation) -> None:
        BulkOperation.objects.update(reason="password=hunter2")
        for what in ("", f"{operation.pk}/change/"):
            assert "hunter2" not in root.get(list_url("bulkoperation", what)).content.decode()

    def test_a_stranger_is_sent_to_the_login(self, client: Client, operation: BulkOperation) -> None:
        for what in ("", "new/", f"{operation.pk}/change/", f"{operation.pk}/stop/"):
            assert "/login/" in client.post(list_url("bulkoperation", what))["Location"]

    def test_get_stops_nothing(self, root: Client, operation: BulkOperation) -> None:
        assert root.get(list_url("bulkoperation", f"{operation.pk}/stop/")).status_code == 405


@pytest.fixture
def operation(failed: None) -> BulkOperation:
    return store_for("default").add_bulk(
        "retry", Selection("failed", queue="mail"), by="alice", matched=12_804, reason="SMTP is back"
    )


class TestPage:
    def body(self, client: Client, operation: BulkOperation, **columns: Any) -> str:
        BulkOperation.objects.update(**columns)
        return client.get(list_url("bulkoperation", f"{operation.pk}/change/")).content.decode()

    def test_it_waits_for_a_worker(self, root: Client, operation: BulkOperation) -> None:
        body = self.body(root, operation)
        assert "Waiting for a worker" in body
        assert "0 of 12,804" in body
        assert "Failed tasks · queue is mail" in body

    def test_it_says_how_far_it_is_and_how_long_it_takes(self, root: Client, operation: BulkOperation) -> None:
        now = timezone.now()
        body = self.body(
            root,
            operation,
            state="running",
            changed=6_159,
            skipped=41,
            started_at=now - timedelta(seconds=62),
            next_at=now + timedelta(seconds=30),
        )
        assert '<progress class="lq-progress" value="6200" max="12804">' in body
        assert "6,200 of 12,804 · 41 skipped" in body
        assert "about 1\xa0minute left" in body
        assert 'data-lq-refresh="5"' in body

    def test_its_speed_is_that_since_it_was_begun(self, operation: BulkOperation) -> None:
        now = timezone.now()
        operation.state, operation.changed, operation.skipped = "running", 6_159, 41
        operation.started_at, operation.next_at = now - timedelta(seconds=62), now
        assert standing_of(operation, now) == ["100 per second", "about 1\xa0minute left"]

    def test_its_worker_may_be_lost(self, root: Client, operation: BulkOperation) -> None:
        past = timezone.now() - timedelta(minutes=1)
        body = self.body(root, operation, state="running", changed=1, started_at=past, next_at=past)
        assert "Waiting for a worker" in body

    def test_it_says_who_stopped_it(self, root: Client, operation: BulkOperation) -> None:
        BulkOperation.objects.update(changed=6_200)
        response = root.post(list_url("bulkoperation", f"{operation.pk}/stop/"), follow=True)
        assert "Stopped by root after 6,200" in response.content.decode()
        assert "data-lq-refresh" not in response.content.decode()
        activity = Activity.objects.order_by("id").last()
        assert activity is not None
        assert (activity.verb, activity.user_name) == ("bulk_stop", "root")

    def test_what_has_ended_is_not_stopped(self, root: Client, operation: BulkOperation) -> None:
        BulkOperation.objects.update(state="done")
        response = root.post(list_url("bulkoperation", f"{operation.pk}/stop/"), follow=True)
        assert "Nothing was changed: the operation had ended." in response.content.decode()

    def test_it_says_why_it_could_not_be_done(self, root: Client, operation: BulkOperation) -> None:
        assert "may no longer do this" in self.body(
            root, operation, state="failed", problem=BulkOperation.NOT_PERMITTED, finished_at=timezone.now()
        )

    def test_one_of_another_version_can_be_looked_at(self, root: Client, operation: BulkOperation) -> None:
        columns = {"verb": "explode", "selection": {"colour": "<b>"}, "options": ["?"]}
        assert "explode" in self.body(root, operation, **columns)
        assert "explode" in root.get(list_url("bulkoperation")).content.decode()

    def test_one_that_does_not_exist_leads_to_the_list(self, root: Client, db: None) -> None:
        response = root.get(list_url("bulkoperation", "7/change/"), follow=True)
        assert "Bulk operation #7 does not exist." in response.content.decode()


class TestQueues:
    LINK = f"{NEW}?listing=ready&amp;queue=mail&amp;verb=cancel"

    def test_all_that_is_ready_in_a_queue_can_be_cancelled(self, root: Client) -> None:
        Queue.objects.create(name="mail")
        assert self.LINK in root.get(list_url("queue")).content.decode()

    def test_who_may_not_is_not_offered_it(self, person: Callable[..., Client]) -> None:
        Queue.objects.create(name="mail")
        assert "bulkoperation/new" not in person("view_queue", "cancel_task").get(list_url("queue")).content.decode()


class TestLists:
    def test_a_list_leads_there_with_its_filter(self, root: Client, failed: None) -> None:
        body = root.get(list_url("failedtask", "?queue=mail")).content.decode()
        [url] = set(re.findall(rf'href="({NEW}[^"]*verb=retry)"', body))
        page = root.get(url.replace("&amp;", "&")).content.decode()
        assert "Retry 2 tasks?" in page
        assert "Failed tasks · queue is mail" in page
        assert f'href="{list_url("failedtask")}?queue=mail"' in page  # and back

    def test_who_may_not_is_not_led_there(self, person: Callable[..., Client], failed: None) -> None:
        body = person("view_task", "retry_task").get(list_url("failedtask")).content.decode()
        assert "bulkoperation/new" not in body
