"""The page of one task: what became of it, what is hidden, what else has to do with it."""

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from django_locqueue.admin.attempts import draw_traceback
from django_locqueue.exceptions import TaskTimeout, UnknownTask
from django_locqueue.models import Activity, ErrorGroup, Queue, Task, TaskAttempt, Worker
from django_locqueue.policies.outcome import class_path
from tests import tasks
from tests.admin.conftest import list_url, task_url

pytestmark = pytest.mark.any_vendor

SECRET = "hunter2-and-more"


def body_of(client: Client, task: Task, **query: str) -> str:
    return client.get(task_url(task), query).content.decode()


class TestHiddenValues:
    @pytest.fixture
    def task(self, make_task: Any) -> Any:
        return make_task(args_kwargs={"args": [], "kwargs": {"password": SECRET, "order": 991}})

    def test_they_are_shown_to_whom_may_see_them_and_that_is_written_down(self, person: Any, task: Task) -> None:
        client = person("view_task", "view_payload")
        body = body_of(client, task)
        assert SECRET not in body
        assert f'action="{task_url(task, "show")}"' in body
        assert SECRET in client.post(task_url(task, "show")).content.decode()
        activity = Activity.objects.get()
        assert (activity.verb, activity.target) == ("view_payload", str(task.pk))

    def test_nobody_else_sees_them(self, person: Any, task: Task) -> None:
        client = person("view_task")
        assert task_url(task, "show") not in body_of(client, task)
        response = client.post(task_url(task, "show"))
        assert response.status_code == 403
        assert SECRET not in response.content.decode()
        assert person("view_payload").post(task_url(task, "show")).status_code == 403
        assert not Activity.objects.exists()

    def test_a_look_is_not_to_be_had_by_a_link(self, root: Client, task: Task) -> None:
        assert root.get(task_url(task, "show")).status_code == 405

    def test_read_only_mode_lets_one_look(self, root: Client, task: Task, settings: Any) -> None:
        settings.LOCQUEUE = {**settings.LOCQUEUE, "ADMIN": {"READ_ONLY": True}}
        assert SECRET in root.post(task_url(task, "show")).content.decode()
        body = body_of(root, task)
        assert task_url(task, "cancel") not in body
        assert root.post(task_url(task, "cancel"), {"confirmed": "yes"}).status_code == 403

    def test_where_nothing_is_hidden_no_button_is_shown(self, root: Client, make_task: Any) -> None:
        assert "Show value" not in body_of(root, make_task(args_kwargs={"args": [1], "kwargs": {}}))


class TestDownload:
    @pytest.fixture
    def task(self, make_task: Any) -> Any:
        call = {"args": ["x" * 70_000], "kwargs": {"password": SECRET}}
        return make_task("successful", args_kwargs=call, return_value="<script>")

    def test_a_large_payload_is_linked_and_comes_whole_and_masked(self, person: Any, task: Task) -> None:
        client = person("view_task")
        assert f'href="{task_url(task, "arguments")}"' in body_of(client, task)
        response = client.get(task_url(task, "arguments"))
        assert response["Content-Disposition"] == f'attachment; filename="task-{task.pk}-arguments.json"'
        assert json.loads(response.content) == {"args": ["x" * 70_000], "kwargs": {"password": "••••••"}}

    def test_a_browser_does_not_take_it_for_a_page(self, root: Client, task: Task) -> None:
        response = root.get(task_url(task, "result"))
        assert (response["Content-Type"], response["X-Content-Type-Options"]) == ("application/json", "nosniff")

    def test_bare_it_is_sent_to_whom_may_see_it_and_noted(self, person: Any, task: Task) -> None:
        assert person("view_task").post(task_url(task, "arguments")).status_code == 403
        response = person("view_task", "view_payload").post(task_url(task, "arguments"))
        assert SECRET.encode() in response.content
        assert Activity.objects.get().verb == "view_payload"

    @pytest.mark.parametrize("what", ["metadata", "log", "worker_ids"])
    def test_what_is_not_there_is_not_found(self, what: str, root: Client, task: Task) -> None:
        assert root.get(task_url(task, what)).status_code == 404

    def test_it_asks_for_the_view_permission(self, person: Any, task: Task) -> None:
        assert person().get(task_url(task, "arguments")).status_code == 403

    @pytest.mark.parametrize("stored", ["not json password=hunter2", "[" * 5000 + "]" * 5000])
    def test_what_is_no_json_is_masked_as_text(self, stored: str, root: Client, task: Task) -> None:
        with connection.cursor() as cursor:
            cursor.execute("UPDATE locqueue_task SET args_kwargs = %s", [stored])
        response = root.get(task_url(task, "arguments"))
        assert response.status_code == 200
        assert b"hunter2" not in response.content


TRACEBACK = """Traceback (most recent call last):
  File "/srv/shop/mail.py", line 41, in send
    smtp.connect()
  File "/usr/lib/python3.13/smtplib.py", line 312, in connect
    raise OSError("refused")
  File "/srv/venv/lib/python3.13/site-packages/x/y.py", line 1, in z
    pass
OSError: refused

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/srv/shop/mail.py", line 45, in send
    raise Broken
shop.Broken: <b>
"""


class TestTraceback:
    def test_frames_of_other_peoples_code_are_marked_and_nothing_is_lost(self) -> None:
        drawn, has_others = draw_traceback(TRACEBACK)
        assert has_others
        assert drawn.count('class="lq-others"') == 2
        assert drawn.count('class="lq-own"') == 2
        plain = (
            drawn.replace("</span>", "").replace('<span class="lq-others">', "").replace('<span class="lq-own">', "")
        )
        assert plain == TRACEBACK.replace('"', "&quot;").replace("<b>", "&lt;b&gt;")

    def test_the_errors_message_belongs_to_no_frame(self) -> None:
        drawn, _ = draw_traceback(TRACEBACK)
        assert "</span>OSError: refused\n" in drawn

    @pytest.mark.parametrize("text", ["", "no traceback at all", TRACEBACK.partition('  File "/usr')[0]])
    def test_without_others_frames_there_is_nothing_to_hide(self, text: str) -> None:
        assert draw_traceback(text) == (text, False)

    def test_the_page_hides_them_without_a_script(self, root: Client, make_task: Any) -> None:
        task = make_task("failed")
        TaskAttempt.objects.create(
            task=task, number=1, outcome="failed", worker_name="w", finished_at=timezone.now(), traceback=TRACEBACK
        )
        body = body_of(root, task)
        assert '<input type="checkbox" class="lq-only-mine"' in body
        assert "&lt;b&gt;" in body


class TestTimeline:
    def test_it_goes_from_the_call_to_the_end_with_the_time_between(self, root: Client, make_task: Any) -> None:
        start = timezone.now() - timedelta(hours=1)
        task = make_task("failed", attempt=2, enqueued_at=start, finished_at=start + timedelta(seconds=42))
        for number, begin in ((1, 0.4), (2, 31)):
            TaskAttempt.objects.create(
                task=task,
                number=number,
                outcome="failed",
                worker_name="w",
                started_at=start + timedelta(seconds=begin),
                finished_at=start + timedelta(seconds=begin + 1),
            )
        line = body_of(root, task).partition('<ol class="lq-timeline"')[2].partition("</ol>")[0]
        assert [gap for gap in ("0.40 s", "29 s", "10 s") if f">{gap}<" in line] == ["0.40 s", "29 s", "10 s"]
        assert line.index("Added") < line.index("0.40 s") < line.index("29 s") < line.index("10 s")


class TestRelated:
    def test_others_of_its_kind_are_counted_and_linked(self, root: Client, make_task: Any) -> None:
        group = ErrorGroup.objects.create(fingerprint="f" * 40, error_class="OSError", place="shop/mail.py:41 send")
        task, *_ = [make_task("failed", error_group=group) for _ in range(3)]
        make_task("successful", error_group=group)
        make_task("failed", error_group=group, dismissed=True)
        body = body_of(root, task)
        assert "2 more like this" in body
        assert f'href="{list_url("failedtask")}?group={"f" * 40}"' in body
        assert "shop/mail.py:41 send" in body

    def test_one_of_its_kind_says_nothing_of_others(self, root: Client, make_task: Any) -> None:
        group = ErrorGroup.objects.create(fingerprint="f" * 40, error_class="OSError")
        assert "more like this" not in body_of(root, make_task("failed", error_group=group))

    def test_its_parent_is_linked(self, root: Client, make_task: Any) -> None:
        parent = make_task()
        body = body_of(root, make_task(metadata={"parent": parent.pk}))
        assert f'<dt>Parent</dt><dd><a href="{task_url(parent)}">' in body

    @pytest.mark.parametrize("parent", [True, "1", -1, 2**70, [1], None])
    def test_what_is_no_id_is_no_parent(self, parent: Any, root: Client, make_task: Any) -> None:
        assert "<dt>Parent</dt>" not in body_of(root, make_task(metadata={"parent": parent}))

    def test_it_says_until_when_it_is_kept(self, root: Client, make_task: Any) -> None:
        task = make_task("successful", finished_at="2026-11-23T12:00Z")
        assert "<dt>Kept until</dt><dd>Nov. 30, 2026</dd>" in body_of(root, task)


class TestGoneFunctions:
    @pytest.mark.parametrize("fields", [{"task_path": "tests.tasks.old_job"}, {"error_class": class_path(UnknownTask)}])
    def test_what_can_only_fail_is_not_offered(self, fields: Any, root: Client, make_task: Any) -> None:
        task = make_task("failed", **fields)
        body = body_of(root, task)
        assert "no longer exists, so this task cannot run." in body
        assert [name for name in ("retry", "retry_at", "again", "delete") if task_url(task, name) in body] == ["delete"]

    def test_what_may_have_come_since_is_offered_and_not_imported(
        self, root: Client, make_task: Any, tmp_path: Any, monkeypatch: Any
    ) -> None:
        (tmp_path / "late_tasks.py").write_text("raise SystemExit")
        monkeypatch.syspath_prepend(tmp_path)
        late = make_task("failed", task_path="late_tasks.send", error_class=class_path(UnknownTask))
        assert task_url(late, "retry") in body_of(root, late)

    def test_what_exists_is_offered(self, root: Client, make_task: Any) -> None:
        task = make_task("failed", task_path=tasks.add.module_path, error_class=class_path(UnknownTask))
        body = body_of(root, task)
        assert "no longer exists" not in body
        assert task_url(task, "retry") in body


def test_one_that_was_deleted_is_said_to_be(root: Client) -> None:
    body = root.get("/admin/locqueue/task/48211/change/", follow=True).content.decode()
    assert "Task #48211 does not exist. It may have been deleted after 7 days." in body


def test_each_part_that_can_be_copied_is_there_once(root: Client, make_task: Any) -> None:
    body = body_of(root, make_task("successful", return_value={"a": "\u202e"}))
    wanted = re.findall(r'data-lq-copy="([^"]+)"', body)
    assert wanted == ["lq-id", "lq-arguments-json", "lq-result-json"]
    assert all(body.count(f'id="{part}"') == 1 for part in wanted)
    assert "&quot;a&quot;: &quot;\\u202e&quot;" in body


def test_what_is_copied_is_masked_as_what_is_shown(root: Client, make_task: Any) -> None:
    body = body_of(root, make_task(args_kwargs={"args": [], "kwargs": {"password": SECRET}}))
    assert SECRET not in body
    assert "lq-arguments-json" in body


def test_a_try_that_took_too_long_is_said_to_have(root: Client, make_task: Any) -> None:
    task = make_task("failed")
    TaskAttempt.objects.create(
        task=task,
        number=1,
        outcome="failed",
        worker_name="w",
        finished_at=timezone.now(),
        error_class=class_path(TaskTimeout),
    )
    assert "</span> Timed out</span>" in body_of(root, task)


def test_a_running_task_whose_worker_is_silent_says_so(root: Client, make_task: Any, worker: Worker) -> None:
    task = make_task("running", worker=worker)
    assert "Worker lost" not in body_of(root, task)
    Worker.objects.update(lease_until=timezone.now() - timedelta(minutes=1))
    assert "Worker lost" in body_of(root, task)


def test_a_task_that_its_queue_holds_up_says_so(root: Client, make_task: Any, worker: Worker) -> None:
    Queue.objects.create(name="default", paused_at=timezone.now())
    assert "Its queue is paused." in body_of(root, make_task("ready"))
    assert "No worker serves its queue." in body_of(root, make_task("ready", queue_name="mial"))


def test_a_step_on_another_day_has_its_date(root: Client, make_task: Any) -> None:
    day = timezone.localtime().replace(hour=12, minute=0, second=0, microsecond=0)
    body = body_of(root, make_task("scheduled", enqueued_at=day, run_after=day + timedelta(days=2)))
    assert f">{day + timedelta(days=2):%m-%d} 12:00:00</time>" in body
    assert ">12:00:00</time>" in body
