"""The page of one schedule: its rule, the next five runs, and those that were."""

from collections.abc import Iterable
from typing import Any

from django.db.models.functions import Left, Length
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _

from django_locqueue.admin import moments
from django_locqueue.admin.badges import badge, state_badge
from django_locqueue.admin.payloads import WHOLE, Payload, draw_call
from django_locqueue.clock import instant
from django_locqueue.exceptions import InvalidSchedule
from django_locqueue.models import Schedule, ScheduleRun, Task
from django_locqueue.policies import legible
from django_locqueue.scheduler.rule import rule_of, zone_of
from django_locqueue.scheduler.slots import next_slots
from django_locqueue.scheduler.words import words
from django_locqueue.store import get_store

RUNS_SHOWN = 50


def with_beginnings(rows: Any) -> Any:
    """Leave arguments in the database, but for the beginning that the page shows."""
    return rows.defer("args_kwargs").annotate(
        arguments_start=Left("args_kwargs", WHOLE), arguments_size=Length("args_kwargs")
    )


def shown(schedule: Any, site_name: str) -> dict[str, Any]:
    """Return what the template shows of a schedule."""
    return {
        "title": legible.line(schedule.name),
        "badge": badge("on" if schedule.enabled else "off"),
        "task_path": legible.line(schedule.task_path),
        "note": note_of(schedule),
        "problem": problem_of(schedule),
        "arguments_drawn": draw_call(Payload(schedule.arguments_start, schedule.arguments_size)),
        "facts": facts_of(schedule),
        "next_runs": next_runs(schedule.cron, schedule.every, schedule.timezone) if schedule.enabled else [],
        "runs": runs_of(schedule, site_name),
    }


def note_of(schedule: Schedule) -> str:
    if schedule.source != Schedule.Source.CODE or schedule.removed_at:
        return ""
    return _("Defined in code; changes here last until the next deploy that changes the definition.")


def problem_of(schedule: Schedule) -> str:
    """Return why a schedule cannot run, in the language of who asks where it is found out anew; empty if it can."""
    if schedule.removed_at:
        return _("Removed from code")
    try:
        rule_of(schedule.cron, schedule.every, schedule.timezone)
    except InvalidSchedule as error:
        return sentence(error)
    return legible.line(schedule.problem)


def sentence(error: InvalidSchedule) -> str:
    """Return the message for who sees the field's name beside it."""
    return legible.line(f"{error.message[:1].upper()}{error.message[1:]}")


def facts_of(schedule: Schedule) -> list[tuple[str, Any]]:
    rule = schedule.cron if schedule.every is None else f"every {schedule.every} s"
    return [
        (_("When"), legible.line(words(schedule.cron, schedule.every))),
        (_("Rule"), format_html("<code>{}</code>", legible.line(rule))),
        (_("Time zone"), legible.line(schedule.timezone)),
        (_("Missed runs"), legible.line(schedule.get_missed_display())),
        (_("Source"), legible.line(schedule.get_source_display())),
    ]


def next_runs(cron: str, every: int | None, timezone: str) -> list[str]:
    """Return the next five, in the schedule's time zone; none for a rule that is wrong."""
    try:
        rule, zone = rule_of(cron, every, timezone), zone_of(timezone)
    except InvalidSchedule:
        return []
    return [f"{at.astimezone(zone):%Y-%m-%d %H:%M:%S %Z}" for at in next_slots(rule, instant(get_store().now()))]


def runs_of(schedule: Schedule, site_name: str) -> list[dict[str, Any]]:
    runs = list(ScheduleRun.objects.filter(schedule=schedule).order_by("-slot")[:RUNS_SHOWN])
    tasks = tasks_by_id(run.task_id for run in runs)
    return [
        {
            "slot": moments.whole(run.slot),
            "task": _task_of(run, tasks, site_name),
            "started_by": legible.line(run.started_by),
            "problem": legible.line(run.problem),
        }
        for run in runs
    ]


def tasks_by_id(ids: Iterable[int | None]) -> dict[int, Task]:
    """Return those of a page's tasks that are still there, with what a badge needs."""
    wanted = [pk for pk in ids if pk is not None]
    rows = Task.objects.filter(pk__in=wanted).only("id", "state", "attempt")[: len(wanted)] if wanted else ()
    return {task.pk: task for task in rows}


def _task_of(run: ScheduleRun, tasks: dict[int, Task], site_name: str) -> Any:
    if run.task_id is None:
        return "–"
    task = tasks.get(run.task_id)
    if task is None:
        return format_html('<span class="lq-quiet">#{} {}</span>', run.task_id, _("deleted"))
    url = reverse("admin:locqueue_task_change", args=[run.task_id], current_app=site_name)
    return format_html('{} <a href="{}">#{}</a>', state_badge(task), url, run.task_id)
