"""The list of schedules, and what can be done to one by a button."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, DELETION, LogEntry
from django.core.exceptions import PermissionDenied
from django.http import HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import path, reverse
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from django_locqueue.admin import moments
from django_locqueue.admin.badges import badge, state_badge
from django_locqueue.admin.noting import note
from django_locqueue.admin.page_base import button
from django_locqueue.admin.pages import page
from django_locqueue.admin.permissions import may
from django_locqueue.admin.plain_list import PlainListAdmin
from django_locqueue.admin.schedule_form import form_view
from django_locqueue.admin.schedule_page import problem_of, shown, tasks_by_id, with_beginnings
from django_locqueue.exceptions import InvalidSchedule
from django_locqueue.models import Schedule
from django_locqueue.observability.stats import capped_counts, capped_text
from django_locqueue.policies import legible
from django_locqueue.scheduler.enqueuing import run_now
from django_locqueue.scheduler.planned import planned
from django_locqueue.scheduler.words import words
from django_locqueue.store import get_store

MANAGE = "locqueue.manage_schedule"
ENQUEUE = "locqueue.enqueue_task"


@dataclass(frozen=True)
class ScheduleChange:
    """``apply`` returns the sentence that says what was done, and whether it was."""

    name: str
    label: Any
    permissions: tuple[str, ...]
    is_offered: Callable[[Schedule], bool]
    apply: Callable[[Any, Schedule], tuple[str, bool]]
    logged: Any
    log_flag: int = CHANGE


def _turn_on(request: Any, schedule: Schedule) -> tuple[str, bool]:
    store = get_store()
    try:
        plan = planned(schedule, store.now())
    except InvalidSchedule as error:
        return _("“%(name)s” stays off: %(problem)s") % {
            "name": _name(schedule),
            "problem": legible.line(error.message),
        }, False
    store.change_schedule(schedule.pk, {"enabled": True, "problem": "", "next_at": plan.next_at})
    return _("“%(name)s” is on.") % {"name": _name(schedule)}, True


def _turn_off(request: Any, schedule: Schedule) -> tuple[str, bool]:
    get_store().change_schedule(schedule.pk, {"enabled": False, "next_at": None})
    return _("“%(name)s” is off.") % {"name": _name(schedule)}, True


def _run(request: Any, schedule: Schedule) -> tuple[str, bool]:
    store = get_store()
    try:
        plan = planned(schedule, store.now())
    except InvalidSchedule as error:
        problem = error.message
    else:
        run = run_now(store, schedule, plan.definition, plan.call, started_by=request.user.get_username())
        if run.task_id is not None:
            said = _("“%(name)s” was added to the queue as #%(id)s.")
            return said % {"name": _name(schedule), "id": run.task_id}, True
        problem = run.problem
    said = _("“%(name)s” was not added to the queue: %(problem)s")
    return said % {"name": _name(schedule), "problem": legible.line(problem)}, False


def _delete(request: Any, schedule: Schedule) -> tuple[str, bool]:
    get_store().delete_schedule(schedule.pk)
    return _("“%(name)s” was deleted.") % {"name": _name(schedule)}, True


def _name(schedule: Schedule) -> str:
    return legible.line(schedule.name)


def is_gone(schedule: Schedule) -> bool:
    return schedule.removed_at is not None


CHANGES = (
    ScheduleChange(
        "run", gettext_lazy("Run now"), (ENQUEUE,), lambda each: not is_gone(each), _run, gettext_lazy("Run by hand.")
    ),
    ScheduleChange(
        "off", gettext_lazy("Turn off"), (MANAGE,), lambda each: each.enabled, _turn_off, gettext_lazy("Turned off.")
    ),
    ScheduleChange(
        "on",
        gettext_lazy("Turn on"),
        (MANAGE,),
        lambda each: not each.enabled and not is_gone(each),
        _turn_on,
        gettext_lazy("Turned on."),
    ),
    ScheduleChange(
        "delete",
        gettext_lazy("Delete"),
        (MANAGE,),
        # What stands in code would come again with the next worker.
        lambda each: each.source == Schedule.Source.ADMIN or is_gone(each),
        _delete,
        gettext_lazy("Deleted."),
        DELETION,
    ),
)


@page(Schedule)
class ScheduleAdmin(PlainListAdmin):
    change_list_template = "admin/locqueue/schedule_list.html"
    empty = gettext_lazy("No schedules yet. Write @schedule above a task, or add one here.")
    ordering = ("name",)
    list_display = (
        "name_column",
        "task_column",
        "when_column",
        "next_column",
        "last_column",
        "on_column",
        "source_column",
    )

    def get_queryset(self, request: Any) -> Any:
        return super().get_queryset(request).defer("args_kwargs")

    def complete(self, rows: list[Any]) -> None:
        tasks = tasks_by_id(row.last_task_id for row in rows)
        for row in rows:
            row.last_task = tasks.get(row.last_task_id)

    def get_list_display(self, request: Any) -> Any:
        offered = [change for change in CHANGES if change.name != "delete" and self.may(request, change)]

        @admin.display(description="", empty_value="")
        def buttons(schedule: Schedule) -> Any:
            changes = format_html_join(
                " ",
                "{}",
                (
                    (button(self.url(change.name, schedule), change.label),)
                    for change in offered
                    if change.is_offered(schedule)
                ),
            )
            return format_html('{} <a href="{}#lq-runs">{}</a>', changes, self.url("change", schedule), _("Show runs"))

        return (*self.list_display, buttons)

    def changelist_view(self, request: Any, extra_context: Any = None) -> Any:
        rows = {name: Schedule.objects.filter(enabled=name == "on").order_by("next_at") for name in ("on", "off")}
        counts = capped_counts(rows)
        context = {
            "introduction": _("%(on)s on, %(off)s off") % {name: capped_text(count) for name, count in counts.items()},
            "add_url": self.url("add") if self.may_edit(request) else None,
        }
        return super().changelist_view(request, {**context, **(extra_context or {})})

    # -- columns

    @admin.display(description=gettext_lazy("name"))
    def name_column(self, schedule: Schedule) -> Any:
        """On a phone with what stands in columns elsewhere."""
        return format_html(
            '<a href="{}" class="{}">{}</a><div class="lq-narrow"><div class="lq-line">{} · {}</div>{}</div>',
            self.url("change", schedule),
            "" if schedule.enabled else "lq-is-off",
            legible.line(schedule.name),
            legible.line(words(schedule.cron, schedule.every)),
            self.task_column(schedule),
            self.on_column(schedule),
        )

    @admin.display(description=gettext_lazy("task"))
    def task_column(self, schedule: Schedule) -> str:
        return legible.line(schedule.task_path)

    @admin.display(description=gettext_lazy("when"))
    def when_column(self, schedule: Schedule) -> Any:
        rule = f"{schedule.timezone} · {schedule.cron}" if schedule.cron else ""
        return format_html(
            '{}<div class="lq-line">{}</div>', legible.line(words(schedule.cron, schedule.every)), legible.line(rule)
        )

    @admin.display(description=gettext_lazy("next"))
    def next_column(self, schedule: Schedule) -> Any:
        return moments.time_tag(schedule.next_at) if schedule.enabled else "–"

    @admin.display(description=gettext_lazy("last"))
    def last_column(self, schedule: Any) -> Any:
        if schedule.last_at is None:
            return "–"
        when = moments.time_tag(schedule.last_at)
        if schedule.last_task is None:
            return when
        url = reverse("admin:locqueue_task_change", args=[schedule.last_task_id], current_app=self.admin_site.name)
        return format_html('{} <a href="{}">{}</a>', state_badge(schedule.last_task), url, when)

    @admin.display(description=gettext_lazy("on"))
    def on_column(self, schedule: Schedule) -> Any:
        return format_html(
            '{}<div class="lq-line">{}</div>', badge("on" if schedule.enabled else "off"), problem_of(schedule)
        )

    @admin.display(description=gettext_lazy("source"))
    def source_column(self, schedule: Schedule) -> Any:
        return legible.line(schedule.get_source_display())

    # -- pages and changes

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view
        return [
            path("add/", view(self.add_view), name="locqueue_schedule_add"),
            path("<int:schedule_id>/change/", self.looked_at(self.page_view), name="locqueue_schedule_change"),
            path("<int:schedule_id>/edit/", view(self.edit_view), name="locqueue_schedule_edit"),
            *(
                path(
                    f"<int:schedule_id>/{change.name}/",
                    self.posted_to(self.change_one_view),
                    {"change": change},
                    name=f"locqueue_schedule_{change.name}",
                )
                for change in CHANGES
            ),
            *super().get_urls(),
        ]

    def url(self, what: str, schedule: Schedule | None = None) -> str:
        args = [] if schedule is None else [schedule.pk]
        return reverse(f"admin:locqueue_schedule_{what}", args=args, current_app=self.admin_site.name)

    def may(self, request: Any, change: ScheduleChange) -> bool:
        return may(request, change.permissions)

    def may_edit(self, request: Any, schedule: Schedule | None = None) -> bool:
        """Whoever writes arguments runs code: both permissions are asked for. What stands in code is changed there."""
        is_ours = schedule is None or schedule.source == Schedule.Source.ADMIN
        return is_ours and may(request, (MANAGE, ENQUEUE))

    def page_view(self, request: Any, schedule_id: int) -> Any:
        schedule = get_object_or_404(with_beginnings(Schedule.objects.all()), pk=schedule_id)
        buttons = [
            (self.url(change.name, schedule), change.label, change.name)
            for change in CHANGES
            if change.is_offered(schedule) and self.may(request, change)
        ]
        edit_url = self.url("edit", schedule) if self.may_edit(request, schedule) else None
        context = shown(schedule, self.admin_site.name)
        return self.respond(request, "admin/locqueue/schedule_page.html", buttons=buttons, edit_url=edit_url, **context)

    def add_view(self, request: Any) -> Any:  # type: ignore[override]
        if not self.may_edit(request):
            raise PermissionDenied
        return form_view(self, request, None)

    def edit_view(self, request: Any, schedule_id: int) -> Any:
        schedule = get_object_or_404(Schedule, pk=schedule_id)
        if not self.may_edit(request, schedule):
            raise PermissionDenied
        return form_view(self, request, schedule)

    def change_one_view(self, request: Any, schedule_id: int, change: ScheduleChange) -> Any:
        if not self.may(request, change):
            raise PermissionDenied
        schedule = get_object_or_404(Schedule, pk=schedule_id)
        if change.is_offered(schedule):
            said, is_done = change.apply(request, schedule)
        else:
            said, is_done = _("Nothing was changed: the schedule has changed while you were looking."), False
        if is_done:
            LogEntry.objects.log_actions(
                request.user.pk, [schedule], change.log_flag, change_message=str(change.logged), single_object=True
            )
            note(request, f"schedule_{change.name}", target=schedule.name)
        self.message_user(request, said, messages.SUCCESS if is_done else messages.WARNING)
        return HttpResponseRedirect(self.url("changelist"))
