"""Every address of our pages, who may ask for it, and what that does. A test fails when one is missing here."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from django.contrib.admin.utils import quote
from django.urls import reverse

from django_locqueue.admin.pages import PAGES
from tests.pages.world import IP, World

NOBODY = "nobody"  # a permission that does not exist: also a superuser is refused


@dataclass(frozen=True)
class Address:
    """``needs``: permissions, all of them; of a tuple in it, one. ``changes``: is posted to, with ``posted``, and
    refuses to be looked at.
    """

    needs: tuple[str | tuple[str, ...], ...]
    args: Callable[[World], list[Any]] = lambda world: []
    changes: bool = False
    posted: dict[str, Any] = field(default_factory=dict)
    query: str = ""
    redirects: bool = False
    also_posted: bool = False  # a page that is looked at, and posted to where a form or actions stand in it
    only_shows: bool = False  # posted to, since it is written down who looked: read-only mode lets it be

    def url(self, name: str, world: World, site: str = "admin") -> str:
        return reverse(f"admin:{name}", args=self.args(world), current_app=site) + self.query


def task(state: str) -> Callable[[World], list[Any]]:
    return lambda world: [world.tasks[state].pk]


def schedule(name: str) -> Callable[[World], list[Any]]:
    return lambda world: [world.schedules[name].pk]


def queue(world: World) -> list[Any]:
    return [quote(world.queue.pk)]


def arguments(world: World) -> list[Any]:
    return [world.tasks["failed"].pk, "arguments"]


def operation(world: World) -> list[Any]:
    return [world.operation.pk]


CONFIRMED = {"confirmed": "yes"}
LATER = {**CONFIRMED, "run_after": "2099-12-01T08:00"}
SEES_BULK = ("locqueue.view_bulkoperation", "locqueue.bulk_task")
TASKS = "locqueue.view_task"
LOG = "locqueue_accesslog."

ADDRESSES: dict[str, Address] = {
    **{
        f"locqueue_{name}_changelist": Address((TASKS,), also_posted=True)
        for name in ("pendingtask", "runningtask", "failedtask", "retriedtask", "task", "workflow")
    },
    **{
        f"locqueue_{name}_changelist": Address((f"locqueue.view_{name}",), also_posted=True)
        for name in ("queue", "limit", "worker", "schedule")
    },
    **{
        f"locqueue_{name}_change": Address((TASKS,), task("failed"), redirects=True)
        for name in ("pendingtask", "runningtask", "failedtask", "retriedtask")
    },
    **{
        f"locqueue_{name}_{what}": address
        for name in ("pendingtask", "runningtask", "failedtask", "retriedtask", "task")
        for what, address in {
            "data": Address((TASKS,)),
            "export": Address((TASKS, "locqueue.export_data")),
        }.items()
    },
    "locqueue_overview_changelist": Address((TASKS,)),
    "locqueue_overview_data": Address((TASKS,)),
    "locqueue_failedtask_errors": Address((TASKS,)),
    "locqueue_failedtask_tasks": Address((TASKS,)),
    "locqueue_task_enqueue": Address(("locqueue.enqueue_task",), also_posted=True),
    "locqueue_task_show": Address((TASKS, "locqueue.view_payload"), task("failed"), True, only_shows=True),
    "locqueue_task_download": Address((TASKS,), arguments, also_posted=True, only_shows=True),
    "locqueue_task_retry_at": Address(("locqueue.retry_task",), task("failed"), True, LATER),
    "locqueue_task_change_time": Address(("locqueue.run_task",), task("scheduled"), True, LATER),
    "locqueue_task_move": Address(("locqueue.run_task",), task("ready"), True, {**CONFIRMED, "queue_name": "default"}),
    "locqueue_task_change_priority": Address(("locqueue.run_task",), task("ready"), True, {**CONFIRMED, "priority": 5}),
    "locqueue_task_stop": Address(("locqueue.cancel_task",), task("scheduled"), True, CONFIRMED),
    "locqueue_task_dismiss": Address(("locqueue.retry_task",), task("failed"), True, CONFIRMED),
    "locqueue_task_put_back": Address(("locqueue.run_task",), task("lost"), True, CONFIRMED),
    "locqueue_activity_changelist": Address(("locqueue.view_activity",)),
    "locqueue_bulkoperation_changelist": Address((SEES_BULK,)),
    "locqueue_bulkoperation_change": Address((SEES_BULK,), operation),
    "locqueue_bulkoperation_new": Address(
        ("locqueue.bulk_task", "locqueue.retry_task", TASKS), query="?verb=retry&listing=failed", also_posted=True
    ),
    "locqueue_bulkoperation_stop": Address(("locqueue.bulk_task", "locqueue.retry_task", TASKS), operation, True),
    "locqueue_task_change": Address((TASKS,), task("failed")),
    "locqueue_task_history": Address((TASKS,), task("failed")),
    "locqueue_task_retry": Address(("locqueue.retry_task",), task("failed"), True, CONFIRMED),
    "locqueue_task_run": Address(("locqueue.run_task",), task("scheduled"), True, CONFIRMED),
    "locqueue_task_cancel": Address(("locqueue.cancel_task",), task("ready"), True, CONFIRMED),
    "locqueue_task_delete": Address(("locqueue.delete_task",), task("cancelled"), True, CONFIRMED),
    "locqueue_task_again": Address(("locqueue.retry_task",), task("again"), True, CONFIRMED),
    "locqueue_workflow_change": Address((TASKS,), lambda world: [world.workflow.pk]),
    "locqueue_workflow_cancel": Address(("locqueue.cancel_task",), lambda world: [world.workflow.pk], True, CONFIRMED),
    "locqueue_queue_change": Address((), queue, redirects=True),
    "locqueue_queue_pause": Address(("locqueue.pause_queue",), lambda world: ["default"], True, CONFIRMED),
    "locqueue_queue_resume": Address(("locqueue.pause_queue",), queue, True, CONFIRMED),
    "locqueue_limit_resume": Address(("locqueue.pause_queue",), lambda world: [quote(world.limit.pk)], True, CONFIRMED),
    "locqueue_worker_stop": Address(("locqueue.stop_worker",), lambda world: [world.worker.pk], True, CONFIRMED),
    "locqueue_schedule_add": Address(("locqueue.manage_schedule", "locqueue.enqueue_task"), also_posted=True),
    "locqueue_schedule_edit": Address(
        ("locqueue.manage_schedule", "locqueue.enqueue_task"), schedule("on"), also_posted=True
    ),
    "locqueue_schedule_change": Address(("locqueue.view_schedule",), schedule("on")),
    "locqueue_schedule_run": Address(("locqueue.enqueue_task",), schedule("on"), True),
    "locqueue_schedule_off": Address(("locqueue.manage_schedule",), schedule("on"), True),
    "locqueue_schedule_on": Address(("locqueue.manage_schedule",), schedule("off"), True),
    "locqueue_schedule_delete": Address(("locqueue.manage_schedule",), schedule("off"), True),
    "locqueue_accesslog_analytics": Address((f"{LOG}view_accesslog",)),
    "locqueue_accesslog_export": Address((f"{LOG}view_accesslog", f"{LOG}export_data")),
    "locqueue_accesslog_address": Address((f"{LOG}view_accesslog", f"{LOG}view_full_ip"), lambda world: [IP]),
    **{
        f"locqueue_accesslog_{name}_{what}": address
        for name, row in (
            ("accesslog", lambda world: [world.request.pk]),
            ("location", lambda world: [quote(world.location.pk)]),
            ("providerstate", lambda world: [quote(world.service.pk)]),
        )
        for what, address in {
            "changelist": Address((f"{LOG}view_{name}",), also_posted=True),
            "add": Address((NOBODY,)),
            "change": Address((f"{LOG}view_{name}",), row, also_posted=True),
            "history": Address((f"{LOG}view_{name}",), row),
            "delete": Address((f"{LOG}delete_{name}",), row, also_posted=True),
        }.items()
    },
}

# Whoever changes something sees the page on which it stands.
SEEN_WITH = {
    **dict.fromkeys(("task", "workflow", "failedtask"), TASKS),
    **{name: f"locqueue.view_{name}" for name in ("queue", "limit", "worker", "schedule")},
    **{f"accesslog_{name}": f"{LOG}view_{name}" for name in ("accesslog", "location", "providerstate")},
}
for name, address in ADDRESSES.items():
    seen = next((each for page, each in SEEN_WITH.items() if name.startswith(f"locqueue_{page}_")), None)
    if seen is not None and seen not in address.needs and address.needs != (NOBODY,):
        ADDRESSES[name] = replace(address, needs=(*address.needs, seen))


def names_of(page_class: Any) -> list[str]:
    """Return the names of a page's addresses. Django's redirect from the address of a row has none."""
    return [pattern.name for pattern in page_class.urls if pattern.name]


def unnamed() -> set[str]:
    """Return what stands on the default site and not in the table, or there and not on the site."""
    from django.contrib import admin

    found = {name for model in PAGES for name in names_of(admin.site.get_model_admin(model))}
    return found ^ set(ADDRESSES)


# The permission of every action of a list.
ACTIONS = {
    "retry": "locqueue.retry_task",
    "run": "locqueue.run_task",
    "cancel": "locqueue.cancel_task",
    "delete": "locqueue.delete_task",
    "again": "locqueue.retry_task",
    "retry_at": "locqueue.retry_task",
    "dismiss": "locqueue.retry_task",
    "put_back": "locqueue.run_task",
    "stop": "locqueue.cancel_task",
    "change_time": "locqueue.run_task",
    "move": "locqueue.run_task",
    "change_priority": "locqueue.run_task",
    "delete_selected": "{app}.delete_{model}",  # of the access log
}
