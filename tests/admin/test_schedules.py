"""Schedules: what a person may make, switch and run, and that a form says what is wrong."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.utils import timezone

from django_locqueue.models import Schedule, ScheduleRun, Task
from tests import tasks
from tests.admin.conftest import list_url, schedule_url

pytestmark = pytest.mark.any_vendor

ADD = list_url("schedule", "add/")
FORM: dict[str, Any] = {
    "name": "nightly",
    "task": tasks.add.module_path,
    "cron": "0 3 * * *",
    "every": "",
    "timezone": "Asia/Shanghai",
    "missed": "once",
    "args": "[1]",
    "kwargs": '{"b": 2}',
    "enabled": "on",
}
EDITOR = ("view_schedule", "manage_schedule", "enqueue_task")


@pytest.fixture
def make(db: None) -> Callable[..., Schedule]:
    def make(**columns: Any) -> Schedule:
        row: dict[str, Any] = {
            "name": "nightly",
            "task_path": "tests.tasks.add",
            "args_kwargs": {"args": [1], "kwargs": {}},
            "cron": "0 3 * * *",
            "timezone": "UTC",
        }
        made: Schedule = Schedule.objects.create(**row | columns)
        return made

    return make


def fresh(schedule: Schedule) -> Schedule:
    found: Schedule = Schedule.objects.get(pk=schedule.pk)
    return found


class TestForm:
    def test_a_schedule_is_made(self, root: Client) -> None:
        assert root.post(ADD, FORM).status_code == 302
        made = Schedule.objects.get()
        assert (made.name, made.task_path, made.cron, made.timezone) == (
            "nightly",
            "tests.tasks.add",
            "0 3 * * *",
            "Asia/Shanghai",
        )
        assert made.args_kwargs == {"args": [1], "kwargs": {"b": 2}}
        assert (made.source, made.enabled) == ("admin", True)
        assert made.next_at is not None
        assert made.next_at.strftime("%H:%M") == "19:00"

    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({"cron": "0 0 31 4 *"}, "Never matches a date: “0 0 31 4 *”."),
            ({"cron": "61 * * * *"}, "Is malformed: “61 * * * *”. Look at the minute."),
            ({"cron": "* * * *"}, "Must have five fields"),
            ({"cron": ""}, "Is missing: give a rule, or every."),
            ({"every": "10"}, "Is given beside every"),
            ({"every": "0", "cron": ""}, "greater than or equal to 1"),
            ({"timezone": "Shanghai"}, "“Shanghai” is not the name of a time zone. One is “Asia/Shanghai”."),
            ({"args": "[1, 2, 3]"}, "Do not fit add(a: int, b: int = 0) -&gt; int"),
            ({"args": "{"}, "Enter a valid JSON"),
            ({"args": "5"}, "Must be a list, got 5."),
            ({"kwargs": "[]"}, "Must be a dict"),
            ({"task": "os.system"}, "is not one of the available choices"),
            ({"name": ""}, "This field is required"),
            ({"missed": "twice"}, "is not one of the available choices"),
        ],
    )
    def test_what_is_wrong_is_said_and_nothing_is_saved(self, root: Client, changes: Any, said: str) -> None:
        response = root.post(ADD, {**FORM, **changes})
        assert response.status_code == 200
        assert said in response.content.decode()
        assert not Schedule.objects.exists()

    def test_the_errors_are_chinese_for_who_reads_chinese(self, root: Client) -> None:
        response = root.post(ADD, {**FORM, "cron": "0 0 31 4 *"}, headers={"accept-language": "zh-hans"})
        assert "该规则永远不会匹配任何日期：“0 0 31 4 *”。" in response.content.decode()

    def test_a_name_is_used_once(self, root: Client, make: Any) -> None:
        make(name="nightly")
        assert "There is a schedule of this name already." in root.post(ADD, FORM).content.decode()

    def test_the_preview_shows_the_next_five_and_saves_nothing(self, root: Client) -> None:
        page = root.post(ADD, {**FORM, "preview": "yes"}).content.decode()
        assert page.count("03:00:00 CST") == 5
        assert "At 03:00" in page
        assert not Schedule.objects.exists()

    def test_g6_only_registered_tasks_are_offered(self, root: Client) -> None:
        page = root.get(ADD).content.decode()
        assert '<option value="testproject.shop.tasks.send_receipt">' in page
        assert "os.system" not in page

    def test_a_schedule_is_changed(self, root: Client, make: Any) -> None:
        schedule = make()
        assert root.post(schedule_url(schedule, "edit"), {**FORM, "cron": "", "every": "30"}).status_code == 302
        assert (fresh(schedule).cron, fresh(schedule).every) == ("", 30)

    def test_hidden_arguments_are_neither_shown_nor_lost(self, root: Client, make: Any) -> None:
        call = {"args": [1], "kwargs": {"password": "hunter2"}}
        schedule = make(args_kwargs=call, task_path="tests.tasks.echo")
        schedule.args_kwargs = call = {"args": [], "kwargs": {"value": {"password": "hunter2"}}}
        schedule.save()
        assert "hunter2" not in root.get(schedule_url(schedule, "edit")).content.decode()
        data = {**FORM, "task": "tests.tasks.echo", "args": "[]", "kwargs": "{}"}
        assert root.post(schedule_url(schedule, "edit"), data).status_code == 302
        assert fresh(schedule).args_kwargs == call

    @pytest.mark.parametrize("left_out", ["manage_schedule", "enqueue_task"])
    def test_who_makes_one_needs_both_permissions(self, person: Any, make: Any, left_out: str) -> None:
        client = person(*set(EDITOR) - {left_out})
        for url in (ADD, schedule_url(make(), "edit")):
            assert client.get(url).status_code == 403
            assert client.post(url, FORM).status_code == 403
        assert Schedule.objects.get().cron == "0 3 * * *"

    def test_who_has_both_may_make_one(self, person: Any) -> None:
        assert person(*EDITOR).post(ADD, FORM).status_code == 302

    def test_what_stands_in_code_is_not_edited_here(self, root: Client, make: Any) -> None:
        assert root.get(schedule_url(make(source="code"), "edit")).status_code == 403


class TestChanges:
    def test_off_and_on(self, root: Client, make: Any) -> None:
        schedule = make(problem="was broken")
        root.post(schedule_url(schedule, "off"))
        assert (fresh(schedule).enabled, fresh(schedule).next_at) == (False, None)
        root.post(schedule_url(schedule, "on"))
        assert (fresh(schedule).enabled, fresh(schedule).next_at is None, fresh(schedule).problem) == (True, False, "")

    def test_one_that_can_never_run_stays_off(self, root: Client, make: Any) -> None:
        schedule = make(enabled=False, cron="0 0 31 4 *")
        page = root.post(schedule_url(schedule, "on"), follow=True).content.decode()
        assert "stays off: never matches a date" in page
        assert not fresh(schedule).enabled

    def test_run_now_adds_a_task_and_says_its_number(self, root: Client, make: Any) -> None:
        schedule = make()
        page = root.post(schedule_url(schedule, "run"), follow=True).content.decode()
        task = Task.objects.get()
        assert f"“nightly” was added to the queue as #{task.pk}." in page
        assert ScheduleRun.objects.get().started_by == "root"
        assert (task.args_kwargs["args"], fresh(schedule).last_at) == ([1], None)

    def test_run_now_says_why_not(self, root: Client, make: Any) -> None:
        page = root.post(schedule_url(make(task_path="no.such.task"), "run"), follow=True).content.decode()
        assert "was not added to the queue: is no task: no.such.task cannot be imported" in page
        assert not Task.objects.exists()

    def test_one_that_a_person_made_is_deleted_with_its_runs(self, root: Client, make: Any) -> None:
        schedule = make()
        root.post(schedule_url(schedule, "run"))
        root.post(schedule_url(schedule, "delete"))
        assert (Schedule.objects.count(), ScheduleRun.objects.count(), Task.objects.count()) == (0, 0, 1)

    def test_what_stands_in_code_is_not_deleted(self, root: Client, make: Any) -> None:
        schedule = make(source="code")
        root.post(schedule_url(schedule, "delete"))
        assert Schedule.objects.exists()

    @pytest.mark.parametrize(
        ("what", "permission"),
        [("off", "manage_schedule"), ("on", "manage_schedule"), ("delete", "manage_schedule"), ("run", "enqueue_task")],
    )
    def test_each_asks_for_its_permission(self, person: Any, make: Any, what: str, permission: str) -> None:
        schedule = make(enabled=what != "on")
        other = ({"manage_schedule", "enqueue_task"} - {permission}).pop()
        assert person("view_schedule", other).post(schedule_url(schedule, what)).status_code == 403
        assert person("view_schedule", permission).post(schedule_url(schedule, what)).status_code == 302

    @pytest.mark.parametrize("what", ["on", "off", "run", "delete"])
    def test_get_changes_nothing(self, root: Client, make: Any, what: str) -> None:
        assert root.get(schedule_url(make(), what)).status_code == 405
        assert Schedule.objects.get().enabled

    def test_a_change_is_in_the_history(self, root: Client, make: Any) -> None:
        root.post(schedule_url(make(), "off"))
        assert LogEntry.objects.get().change_message == "Turned off."


class TestPages:
    def test_the_list_says_how_many_are_on(self, root: Client, one_of_each: Any) -> None:
        assert "2 on, 2 off" in root.get(list_url("schedule")).content.decode()

    def test_the_list_says_it_in_words_and_links_the_last_task(self, root: Client, one_of_each: Any) -> None:
        page = root.get(list_url("schedule")).content.decode()
        assert "At 03:00, Monday through Friday" in page
        assert "Every 10 seconds" in page
        assert f"/task/{one_of_each['successful'].pk}/change/" in page
        assert "Removed from code" in page
        assert "Never matches a date: “0 0 31 4 *”." in page

    def test_words_are_chinese_with_the_names_of_days(self, root: Client, one_of_each: Any) -> None:
        page = root.get(list_url("schedule"), headers={"accept-language": "zh-hans"}).content.decode()
        assert "在 03:00, 星期一 到 星期五" in page
        assert "每 10 秒" in page

    def test_a_slot_that_nobody_enqueued_in_time_says_that_no_scheduler_is_there(
        self, root: Client, make: Any, worker: Any
    ) -> None:
        make(next_at=timezone.now() - timedelta(minutes=2))
        assert "No scheduler is active." in root.get(list_url("schedule")).content.decode()

    @pytest.mark.parametrize(("enabled", "seconds"), [(True, 0), (False, 3600)])
    def test_one_that_is_due_just_now_or_off_does_not(
        self, root: Client, make: Any, enabled: bool, seconds: int
    ) -> None:
        make(enabled=enabled, next_at=timezone.now() - timedelta(seconds=seconds))
        assert "No scheduler is active." not in root.get(list_url("schedule")).content.decode()

    def test_a_task_says_which_schedule_enqueued_it(self, root: Client, make: Any) -> None:
        schedule = make()
        root.post(schedule_url(schedule, "run"))
        page = root.get(f"/admin/locqueue/task/{Task.objects.get().pk}/change/").content.decode()
        assert f'<a href="{schedule_url(schedule)}">nightly</a>' in page

    @pytest.mark.parametrize("metadata", [{"schedule": "nightly"}, {"schedule": None}, ["schedule"], {}])
    def test_metadata_that_only_looks_like_it_does_no_harm(self, root: Client, make_task: Any, metadata: Any) -> None:
        page = root.get(f"/admin/locqueue/task/{make_task(metadata=metadata).pk}/change/")
        assert page.status_code == 200

    def test_a_page_shows_the_next_five_runs_in_its_time_zone(self, root: Client, make: Any) -> None:
        page = root.get(schedule_url(make(timezone="Asia/Shanghai"))).content.decode()
        assert page.count("03:00:00 CST") == 5

    def test_a_page_shows_the_runs_and_what_became_of_them(self, root: Client, one_of_each: Any) -> None:
        page = root.get(schedule_url(Schedule.objects.get(name="often"))).content.decode()
        assert f"#{one_of_each['successful'].pk}</a>" in page
        assert "OSError: no room" in page

    def test_one_in_code_says_how_long_a_change_lasts(self, root: Client, make: Any) -> None:
        assert "Defined in code" in root.get(schedule_url(make(source="code"))).content.decode()

    def test_a_page_of_one_that_is_gone_is_not_found(self, root: Client) -> None:
        assert root.get(list_url("schedule", "1/change/")).status_code == 404
