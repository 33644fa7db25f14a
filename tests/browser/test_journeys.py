"""What a person does with the pages, from the first look on."""

from typing import Any

from django.contrib.auth.models import Group
from django.utils import timezone
from playwright.sync_api import expect

from django_locqueue.models import ErrorGroup, Queue, Schedule, Task
from tests.processes import wait_until
from tests.tasks import add, fail, read_group

FAST = {"DJANGO_SETTINGS_MODULE": "tests.settings_fast"}


def state_of(task_id: int) -> Any:
    return Task.objects.values_list("state", flat=True).get(pk=task_id)


def test_an_empty_installation_says_what_to_do_first(window: Any) -> None:
    window.goto("/admin/locqueue/task/")
    expect(window.get_by_text("No worker is running.")).to_be_visible()
    expect(window.get_by_text("python manage.py runqueue").first).to_be_visible()
    expect(window.get_by_text("No tasks yet.")).to_be_visible()


def test_a_task_that_failed_is_seen_and_retried(window: Any, run_worker: Any) -> None:
    run_worker(env=FAST)
    task_id = int(read_group.enqueue(pk=7).id)
    wait_until(lambda: state_of(task_id) == "failed")
    window.goto("/admin/locqueue/failedtask/")
    expect(window.get_by_text("DoesNotExist").first).to_be_visible()
    Group.objects.create(pk=7, name="what was missing")
    window.get_by_role("row").filter(has_text="read_group").get_by_role("button", name="Retry").click()
    expect(window.get_by_text("Retried 1 task.")).to_be_visible()
    wait_until(lambda: state_of(task_id) == "successful")
    window.goto(f"/admin/locqueue/task/{task_id}/change/")
    expect(window.locator(".lq-head").get_by_text("Succeeded")).to_be_visible()
    expect(window.get_by_text("what was missing", exact=True)).to_be_visible()


def test_a_queue_is_paused_and_goes_on(window: Any, run_worker: Any) -> None:
    Queue.objects.create(name="default")
    run_worker(env=FAST)
    window.goto("/admin/locqueue/queue/")
    window.get_by_role("button", name="Pause…").click()
    window.get_by_label("Reason").fill("SMTP is down")
    window.get_by_role("button", name="Pause", exact=True).click()
    expect(window.get_by_text("Queue “default” is paused.")).to_be_visible()
    task_id = int(add.enqueue(1, 2).id)
    window.goto("/admin/locqueue/pendingtask/")
    expect(window.get_by_text("SMTP is down")).to_be_visible()
    assert state_of(task_id) == "ready"
    window.get_by_role("button", name="Resume").first.click()
    expect(window.get_by_text("Queue “default” goes on.")).to_be_visible()
    wait_until(lambda: state_of(task_id) == "successful")


def test_a_schedule_is_run_at_once(window: Any, run_worker: Any) -> None:
    run_worker(env=FAST)
    call = {"args": [3, 4], "kwargs": {}}
    Schedule.objects.create(
        name="nightly", task_path="tests.tasks.add", cron="0 3 * * *", timezone="UTC", args_kwargs=call
    )
    window.goto("/admin/locqueue/schedule/")
    window.get_by_role("row").filter(has_text="nightly").get_by_role("button", name="Run now").click()
    expect(window.get_by_text("“nightly” was added to the queue")).to_be_visible()
    wait_until(lambda: Task.objects.filter(state="successful").exists())


def test_the_list_of_running_tasks_is_kept_as_it_is(window: Any, django_user_model: Any) -> None:
    window.clock.install()
    task = Task.objects.create(
        state="running", task_path="shop.tasks.send", attempt=1, args_kwargs={"args": [], "kwargs": {}}
    )
    window.goto("/admin/locqueue/runningtask/")
    expect(window.get_by_role("cell").filter(has_text="send").first).to_be_visible()
    Task.objects.filter(pk=task.pk).update(task_path="shop.tasks.pack")
    window.clock.fast_forward(5_000)
    expect(window.get_by_role("cell").filter(has_text="pack").first).to_be_visible()


def test_thousands_of_tasks_are_retried_and_followed_to_the_end(window: Any, run_worker: Any) -> None:
    call, now = {"args": [1, 2], "kwargs": {}}, timezone.now()
    failed = {"state": "failed", "attempt": 1, "max_attempts": 1, "finished_at": now, "queue_name": "nobody"}
    Task.objects.bulk_create(Task(task_path="tests.tasks.add", args_kwargs=call, **failed) for _ in range(2_500))
    window.goto("/admin/locqueue/failedtask/")
    window.get_by_role("link", name="Retry all 2,500…").click()
    window.get_by_label("Reason").fill("SMTP is back")
    window.get_by_label("Type the number to confirm").fill("2500")
    window.get_by_role("button", name="Yes").click()
    expect(window.locator("#content-main").get_by_text("Waiting for a worker")).to_be_visible()
    run_worker(env=FAST)
    expect(window.locator("#content-main").get_by_text("Done")).to_be_visible(timeout=15_000)  # by itself
    assert not Task.objects.filter(state="failed").exists()
    window.goto("/admin/locqueue/activity/")
    expect(window.get_by_text("SMTP is back").first).to_be_visible()


def test_all_failures_of_a_kind_are_retried(window: Any, run_worker: Any) -> None:
    run_worker(env=FAST)
    ids = [int(read_group.enqueue(pk=pk).id) for pk in (7, 8, 9)]
    other = int(fail.enqueue().id)
    wait_until(lambda: Task.objects.filter(state="failed").count() == 4)
    Group.objects.bulk_create(Group(pk=pk, name=f"group {pk}") for pk in (7, 8, 9))
    wait_until(lambda: ErrorGroup.objects.filter(total=3).exists())
    window.goto("/admin/locqueue/failedtask/errors/")
    row = window.get_by_role("row").filter(has_text="DoesNotExist")
    expect(row.get_by_text("New")).to_be_visible()
    row.get_by_role("link", name="Retry").click()
    window.get_by_role("button", name="Yes").click()
    wait_until(lambda: Task.objects.filter(pk__in=ids, state="successful").count() == 3)
    assert state_of(other) == "failed"


def test_the_overview_is_kept_as_it_is(window: Any) -> None:
    window.clock.install()
    window.goto("/admin/locqueue/overview/")
    expect(window.get_by_text("No tasks yet.")).to_be_visible()
    call: Any = {"args": [], "kwargs": {}}
    Task.objects.create(state="failed", task_path="shop.tasks.send", finished_at=timezone.now(), args_kwargs=call)
    window.clock.fast_forward(11_000)
    expect(window.get_by_text("No tasks yet.")).to_be_hidden()


def test_a_worker_is_asked_to_stop(window: Any, run_worker: Any) -> None:
    worker = run_worker(env=FAST)
    window.goto("/admin/locqueue/worker/")
    window.get_by_role("button", name="Stop after current tasks").click()
    assert worker.wait() == 0
    window.reload()
    expect(window.get_by_role("cell").filter(has_text="Stopped")).to_be_visible()
