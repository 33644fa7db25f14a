"""Whatever a person changes is written down: who, what, where, why."""

from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from django_locqueue.models import Activity, ErrorGroup, Limit, Queue, Schedule, Task, Workflow
from django_locqueue.store import get_store
from tests.admin.conftest import list_url, schedule_url, task_url

pytestmark = pytest.mark.any_vendor


def record(verb: str = "retry", **columns: Any) -> None:
    get_store().record_activity(verb, **{"by": "alice", "source": "203.0.113.7", **columns})


def body_of(client: Client, query: str = "") -> str:
    return client.get(list_url("activity", query)).content.decode()


def last() -> tuple[str, str, str]:
    activity = Activity.objects.latest("pk")
    return activity.verb, activity.target, activity.reason


class TestWhatIsNoted:
    def test_queues(self, root: Client) -> None:
        Queue.objects.create(name="mail")
        root.post("/admin/locqueue/queue/mail/pause/", {"confirmed": "yes", "reason": "SMTP is down"})
        assert last() == ("pause", "mail", "SMTP is down")
        assert Activity.objects.get().source == "127.0.0.1"
        root.post("/admin/locqueue/queue/mail/resume/")
        assert last() == ("resume", "mail", "")

    @pytest.mark.parametrize("what", ["run", "off", "delete"])
    def test_schedules(self, what: str, root: Client) -> None:
        schedule = Schedule.objects.create(
            name="nightly",
            task_path="tests.tasks.add",
            cron="0 3 * * *",
            timezone="UTC",
            source="admin",
            args_kwargs={"args": [1], "kwargs": {}},
        )
        root.post(schedule_url(schedule, what))
        assert last() == (f"schedule_{what}", "nightly", "")

    def test_a_schedule_that_is_made(self, root: Client) -> None:
        posted = {"name": "often", "task": "tests.tasks.add", "every": "60", "missed": "once", "args": "[1]"}
        root.post(list_url("schedule", "add/"), posted)
        assert last() == ("schedule_add", "often", "")

    def test_workflows(self, root: Client, make_task: Any) -> None:
        flow = Workflow.objects.create(name="x", plan=[["x", 1]], steps=1, tasks_total=1, remaining=1)
        make_task("ready", workflow=flow)
        root.post(f"/admin/locqueue/workflow/{flow.pk}/cancel/", {"confirmed": "yes", "reason": "wrong month"})
        assert last() == ("cancel_workflow", str(flow.pk), "wrong month")

    def test_limits(self, root: Client) -> None:
        Limit.objects.create(key="r:shop", rate="1/s", paused_until="2126-01-01T00:00Z")
        root.post("/admin/locqueue/limit/r:shop/resume/")
        assert last()[0] == "resume_limit"

    def test_what_cannot_be_written_down_is_not_done(self, root: Client, make_task: Any, monkeypatch: Any) -> None:
        def fail(*args: Any, **kwargs: Any) -> None:
            raise OSError("disk full")

        task = make_task("failed")
        monkeypatch.setattr("django_locqueue.store.control.Controlling.record_activity", fail)
        with pytest.raises(OSError, match="disk full"):
            root.post(task_url(task, "retry"))
        assert Task.objects.get(pk=task.pk).state == "failed"

    def test_commands(self, make_task: Any, monkeypatch: Any, db: None) -> None:
        monkeypatch.setattr("getpass.getuser", lambda: "deploy")
        call_command("queue_pause", "mail", reason="SMTP is down")
        assert last() == ("pause", "mail", "SMTP is down")
        call_command("queue_resume", "mail")
        assert last() == ("resume", "mail", "")
        task = make_task("ready")
        call_command("queue_cancel", str(task.pk), reason="wrong month", yes=True)
        assert last() == ("cancel", str(task.pk), "wrong month")
        assert set(Activity.objects.values_list("user_name", "source")) == {("deploy", "command")}

    def test_nothing_where_nothing_was_changed(self, root: Client, make_task: Any) -> None:
        Queue.objects.create(name="mail")
        root.post("/admin/locqueue/queue/mail/resume/")
        root.post(task_url(make_task("running"), "retry"))
        assert not Activity.objects.exists()


class TestPage:
    def test_it_says_who_did_what_where_and_why(self, root: Client) -> None:
        ids = list(range(1, 13))
        record(selection={"ids": ids, "options": {}}, matched=12, changed=10, skipped=2, reason="SMTP is back")
        body = body_of(root)
        for text in ("alice", "Retried 10 tasks.", "#1, #2", "#10 …", "10/2", "SMTP is back", "203.0.113.7"):
            assert text in body

    def test_a_filter_is_said_in_words(self, root: Client) -> None:
        ErrorGroup.objects.create(fingerprint="f1", error_class="builtins.OSError", message="no room")
        for number in range(3):
            record(selection={"listing": "failed", "queue": "mail", "group": "f1"}, target=f"#{number + 1}")
        body = body_of(root)
        assert body.count("Failed tasks · queue is mail · error is OSError: no room") == 3
        assert '<a href="/admin/locqueue/bulkoperation/3/change/">#3</a>' in body

    def test_what_was_chosen_is_said(self, root: Client) -> None:
        record("move", target="7", selection={"options": {"queue_name": "slow"}})
        record("move", target="#3", selection={"listing": "ready", "queue": "mail", "options": {"queue_name": "fast"}})
        body = body_of(root)
        assert "to queue: slow" in body
        assert "Ready · queue is mail · to queue: fast" in body

    def test_large_numbers_and_times_are_written_as_people_do(self, root: Client) -> None:
        record(selection={"options": {"run_after": "2126-12-01T15:00:00+00:00", "priority": 5}}, changed=12_763)
        body = body_of(root)
        assert "Retried 12,763 tasks." in body
        assert "time: Dec. 1, 2126 15:00:00 UTC · priority: 5" in body

    def test_a_single_task_is_linked(self, root: Client, make_task: Any) -> None:
        task = make_task("failed")
        record(target=str(task.pk))
        assert f'<a href="{task_url(task)}">#{task.pk}</a>' in body_of(root)

    def test_a_queue_whose_name_is_a_number_is_no_task(self, root: Client) -> None:
        record("pause", target="7")
        assert "/task/7/" not in body_of(root)

    @pytest.mark.parametrize(
        ("query", "found"),
        [("", "ab"), ("?verb=retry", "a"), ("?verb=pause", "b"), ("?q=bob", "b"), ("?q=bo", ""), ("?last=1h", "b")],
    )
    def test_it_is_narrowed_by_user_verb_and_time(self, query: str, found: str, root: Client) -> None:
        record(reason="the first")
        Activity.objects.update(time="2026-01-01T00:00Z")
        record("pause", by="bob", reason="the second")
        body = body_of(root, query)
        assert [name for name, text in (("a", "the first"), ("b", "the second")) if text in body] == list(found)

    def test_a_search_keeps_the_filter(self, root: Client) -> None:
        assert '<input type="hidden" name="verb" value="pause">' in body_of(root, "?verb=pause")

    def test_it_needs_its_own_permission(self, person: Any) -> None:
        assert person("view_task").get(list_url("activity")).status_code == 403
        assert person("view_activity").get(list_url("activity")).status_code == 200

    def test_nothing_on_it_can_be_changed(self, root: Client) -> None:
        record()
        pk = Activity.objects.get().pk
        for what in ("add/", f"{pk}/change/", f"{pk}/delete/"):
            assert root.post(list_url("activity", what)).status_code == 404
        assert 'name="action"' not in body_of(root)

    def test_no_verb_to_choose_from_is_half_a_sentence(self, root: Client) -> None:
        record()
        assert "%(" not in body_of(root)

    def test_empty_it_says_so(self, root: Client) -> None:
        assert "Nobody has changed anything yet." in body_of(root)

    def test_a_verb_of_another_version_and_hostile_text_are_text(self, root: Client) -> None:
        evil = "<img src=x>\u202e"
        selection = {evil: evil, "ids": [evil], "options": {evil: evil}}
        record(evil, by=evil, target=evil, reason=evil, source=evil, selection=selection)
        record("retry", by=evil, target=evil, source=evil, selection={"listing": evil, evil: evil})
        body = body_of(root)
        assert "<img src=x" not in body
        assert "\u202e" not in body

    def test_filters_look_at_the_newest_rows_only(self, root: Client, monkeypatch: Any) -> None:
        monkeypatch.setattr("django_locqueue.admin.activities.WINDOW", 2)
        for number in range(3):
            record(reason=f"number {number}")
        body = body_of(root, "?verb=retry")
        assert [number for number in range(3) if f"number {number}" in body] == [1, 2]


def test_the_reason_of_a_person_stands_on_the_task(root: Client, make_task: Any) -> None:
    task = make_task("ready")
    root.post(task_url(task, "cancel"), {"confirmed": "yes", "reason": "wrong month"})
    assert "Cancelled. – wrong month" in root.get(task_url(Task.objects.get())).content.decode()
