"""All tasks, the page of one task, and the addresses where single tasks are changed."""

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

from django.contrib import messages
from django.db.models.functions import Left, Length, Right
from django.http import HttpResponseRedirect
from django.urls import path, re_path, reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from django_locqueue.admin.attempts import attempts_of, timeline_of
from django_locqueue.admin.badges import badge, state_badge
from django_locqueue.admin.bare_payloads import COLUMNS, BarePayloads, may_see
from django_locqueue.admin.change import may
from django_locqueue.admin.changelist import Tab
from django_locqueue.admin.changes import CHANGES, RUNS_IT
from django_locqueue.admin.columns import error_name, progress_bar
from django_locqueue.admin.enqueue_form import enqueue_view
from django_locqueue.admin.estimate import stored_note
from django_locqueue.admin.facts import facts_of, facts_of_others, kept_days, metadata_of
from django_locqueue.admin.filters import PeriodFilter, QueueFilter, StateFilter, TaskFilter, WorkerFilter, as_id
from django_locqueue.admin.live import live
from django_locqueue.admin.pages import list_of, page
from django_locqueue.admin.payloads import WHOLE, Payload, draw_call, draw_log, draw_payload
from django_locqueue.admin.related import alike, is_gone, log_of, related_facts
from django_locqueue.admin.strip import Strip
from django_locqueue.admin.task_base import WIDE_COLUMNS, TaskAdminBase, with_worker
from django_locqueue.models import Schedule, State, Task, Workflow
from django_locqueue.policies import legible, masking


class Section(NamedTuple):
    """A payload on the page of a task. ``url``: of the whole as a file."""

    name: str
    title: Any
    payload: Payload
    drawn: Any
    url: str

    @property
    def part(self) -> str:
        """The id of the element that holds it to be copied."""
        return f"lq-{self.name}-json"


PAYLOADS = (
    ("arguments", gettext_lazy("Arguments"), draw_call),
    ("result", gettext_lazy("Result"), draw_payload),
    ("metadata", gettext_lazy("Metadata"), draw_payload),
)
LOG = ("log", gettext_lazy("Log"), draw_log)
ENDED_COLUMNS = (
    "task_column",
    "queue_column",
    "worker_column",
    "finished_column",
    "wait_column",
    "ran_for_column",
    "attempt_column",
)


@page(Task)
class TaskAdmin(BarePayloads, TaskAdminBase):
    tabs = (
        Tab(
            name="all",
            listing="all",
            label=gettext_lazy("All"),
            changes=tuple(CHANGES),
            empty=gettext_lazy("No tasks yet."),
        ),
        Tab(
            name="succeeded",
            listing="succeeded",
            label=gettext_lazy("Succeeded"),
            changes=("again", "delete"),
            empty=gettext_lazy("No task has succeeded."),
            columns=ENDED_COLUMNS,
        ),
        Tab(
            name="cancelled",
            listing="cancelled",
            label=gettext_lazy("Cancelled"),
            changes=("retry", "retry_at", "again", "delete"),
            empty=gettext_lazy("No task was cancelled."),
            columns=ENDED_COLUMNS,
        ),
    )
    list_filter: ClassVar[Any] = (StateFilter, QueueFilter, TaskFilter, WorkerFilter, PeriodFilter)
    list_display = (
        "task_column",
        "state_column",
        "queue_column",
        "worker_column",
        "added_column",
        "wait_column",
        "ran_for_column",
        "attempt_column",
    )

    def current_tab(self, request: Any) -> Tab:
        workflow_id = as_id(request.GET.get("workflow", ""))
        if workflow_id is None:
            return super().current_tab(request)
        return replace(self.tabs[0], empty=gettext_lazy("No task of this workflow is left."))

    def footer(self) -> str:
        return stored_note()

    def empty_note(self, tab: Tab) -> Any:
        is_cut = tab.kind.last and Task.objects.exists()
        return _("None was added in the last 24 hours; choose another time above.") if is_cut else ""

    def changelist_view(self, request: Any, extra_context: Any = None) -> Any:
        workflow_id = as_id(request.GET.get("workflow", ""))
        if workflow_id is not None:
            extra_context = {"introduction": self.workflow_link(workflow_id), **(extra_context or {})}
        return super().changelist_view(request, extra_context)

    def workflow_link(self, workflow_id: int) -> Any:
        url = reverse("admin:locqueue_workflow_change", args=[workflow_id], current_app=self.admin_site.name)
        return format_html('<a href="{}">{} #{}</a>', url, _("Workflow"), workflow_id)

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view
        return [
            path("", view(live(self.changelist_view)), name="locqueue_task_changelist"),
            *self.get_file_urls(),
            path("<int:task_id>/change/", self.looked_at(live(self.page_of)), name="locqueue_task_change"),
            path("<object_id>/history/", view(self.history_view), name="locqueue_task_history"),
            path("enqueue/", view(self.enqueue_view), name="locqueue_task_enqueue"),
            path("<int:task_id>/show/", self.posted_to(self.show_view), name="locqueue_task_show"),
            re_path(
                f"^(?P<task_id>[0-9]{{1,18}})/(?P<what>{'|'.join(COLUMNS)})/$",
                view(self.download_view),
                name="locqueue_task_download",
            ),
            *(
                path(
                    f"<int:task_id>/{change.name}/",
                    self.posted_to(self.change_one_view),
                    {"change": change},
                    name=f"locqueue_task_{change.name}",
                )
                for change in CHANGES.values()
            ),
        ]

    def enqueue_view(self, request: Any) -> Any:
        return enqueue_view(self, request)

    # -- the page

    def page_of(self, request: Any, task_id: int, *, is_bare: bool = False) -> Any:
        """Return the page of a task. ``is_bare``: nothing is masked in its payloads."""
        task = one_task(task_id)
        if task is None:
            self.message_user(request, never_was(task_id), messages.WARNING)
            return HttpResponseRedirect(self.list_url("task"))
        site = self.admin_site
        list_name = list_of(task.state)
        list_model = Task._meta.apps.get_model("locqueue", list_name)
        gone = is_gone(task)
        attempts = attempts_of(task, shown=request.GET.get("attempts", ""))
        is_live = task.state == State.RUNNING
        # A page that a form has asked for cannot be asked for again by a script.
        strip = Strip(request, site, f"locqueue.{list_name}", refresh=5 if is_live and not is_bare else None)
        return self.respond(
            request,
            "admin/locqueue/task_page.html",
            lq=strip,
            title=f"{legible.line(task.name)} #{task.pk}",
            list_url=self.list_url(list_name),
            list_name=list_model._meta.verbose_name_plural,
            task=task,
            task_path=legible.line(task.task_path),
            queue_name=legible.line(task.queue_name),
            badge=badge("lost") if is_live and task.worker_is_lost else state_badge(task),
            history_url=reverse("admin:locqueue_task_history", args=[task.pk], current_app=site.name),
            buttons=[
                (self.change_url(change, task), change.label_for(task), change.name)
                for change in CHANGES.values()
                if change.is_offered(task) and may(request, change) and not (gone and change.name in RUNS_IT)
            ],
            next=self.task_url(task),
            is_gone=gone and task.state != State.SUCCESSFUL,
            error_class=error_name(task.error_class),
            error_message=legible.line(masking.mask_text(task.error_message)),
            alike=alike(task, site.name),
            timeline=timeline_of(task, attempts),
            payloads=self.payloads_of(task, PAYLOADS, is_bare=is_bare),
            task_log=self.payloads_of(task, (LOG,), is_bare=is_bare),
            show_url=self.show_url(request, task),
            progress=progress_bar(task),
            facts=[
                *facts_of(task, strip.now),
                *self.schedule_of(task),
                *self.place_of(task),
                *related_facts(task, site.name),
                *facts_of_others(request, site, task),
            ],
            attempts=attempts,
            log=log_of(task),
        )

    def payloads_of(self, task: Any, payloads: Iterable[Any], *, is_bare: bool) -> list[Section]:
        """Return the sections of some payloads; metadata and log only if there are any."""
        found = []
        for name, title, draw in payloads:
            payload = Payload(getattr(task, f"{name}_start"), getattr(task, f"{name}_size"), is_bare)
            if name not in ("metadata", "log") or not payload.is_missing:
                url = reverse("admin:locqueue_task_download", args=[task.pk, name], current_app=self.admin_site.name)
                found.append(Section(name, title, payload, draw(payload), url))
        return found

    def show_url(self, request: Any, task: Task) -> str:
        """Return where hidden values are shown; empty for whom may not see them."""
        if not may_see(request):
            return ""
        return reverse("admin:locqueue_task_show", args=[task.pk], current_app=self.admin_site.name)

    def schedule_of(self, task: Any) -> list[tuple[str, Any]]:
        """Return the schedule that enqueued it, if one did."""
        try:
            name = str(metadata_of(task)["schedule"]["name"])
        except (TypeError, KeyError):  # none, or somebody else's
            return []
        pk = Schedule.objects.filter(name=name).values_list("pk", flat=True).first()
        if pk is None:
            return [(_("Schedule"), legible.line(name))]
        url = reverse("admin:locqueue_schedule_change", args=[pk], current_app=self.admin_site.name)
        return [(_("Schedule"), format_html('<a href="{}">{}</a>', url, legible.line(name)))]

    def place_of(self, task: Any) -> list[tuple[str, Any]]:
        """Return where it stands in its workflow, if it is part of one."""
        if task.workflow_id is None:
            return []
        steps = Workflow.objects.filter(pk=task.workflow_id).values_list("steps", flat=True).first()
        place = _("step %(step)s of %(steps)s") % {"step": task.step + 1, "steps": steps or "?"}
        link = self.workflow_link(task.workflow_id) if steps else f"#{task.workflow_id}"
        return [(_("Workflow"), format_html("{} ({})", link, place))]


def never_was(task_id: int) -> str:
    """Say that there is no such task, and after how many days it may have been deleted."""
    days = kept_days("default", State.SUCCESSFUL)
    if days is None:
        return _("Task #%(id)s does not exist. It may have been deleted.") % {"id": task_id}
    said = ngettext(
        "Task #%(id)s does not exist. It may have been deleted after %(days)s day.",
        "Task #%(id)s does not exist. It may have been deleted after %(days)s days.",
        math.ceil(days),
    )
    return said % {"id": task_id, "days": f"{days:g}"}


def one_task(task_id: int) -> Any:
    """Return the task with the beginnings of what may be large, or None."""
    rows = with_worker(Task.objects.defer(*WIDE_COLUMNS)).select_related("worker", "error_group")
    rows = rows.annotate(
        arguments_start=Left("args_kwargs", WHOLE),
        arguments_size=Length("args_kwargs"),
        result_start=Left("return_value", WHOLE),
        result_size=Length("return_value"),
        metadata_start=Left("metadata", WHOLE),
        metadata_size=Length("metadata"),
        log_start=Left("log", WHOLE),
        log_size=Length("log"),
        worker_ids_end=Right("worker_ids", 2_000),
    )
    return rows.filter(pk=task_id).first()
