"""All tasks, the page of one task, and the addresses where single tasks are changed."""

from dataclasses import replace
from typing import Any, ClassVar

from django.contrib import messages
from django.contrib.admin.models import LogEntry
from django.core.exceptions import PermissionDenied
from django.db.models.functions import Left, Length, Right
from django.http import HttpResponseNotAllowed, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.html import format_html
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from django_locqueue.admin.attempts import attempts_of
from django_locqueue.admin.badges import state_badge
from django_locqueue.admin.changes import CHANGES, Change, asker_of, may, refusal
from django_locqueue.admin.columns import error_name
from django_locqueue.admin.estimate import stored_note
from django_locqueue.admin.facts import facts_of, facts_of_others, metadata_of
from django_locqueue.admin.filters import PeriodFilter, QueueFilter, StateFilter, TaskFilter, WorkerFilter
from django_locqueue.admin.pages import page
from django_locqueue.admin.payloads import WHOLE, Payload, draw_call, draw_payload
from django_locqueue.admin.progress import progress_bar
from django_locqueue.admin.strip import Strip
from django_locqueue.admin.tabs import Tab
from django_locqueue.admin.task_base import WIDE_COLUMNS, TaskAdminBase, as_id
from django_locqueue.models import Schedule, State, Task, Workflow
from django_locqueue.policies import legible, masking
from django_locqueue.store import get_store

LISTS = {
    State.SCHEDULED: "pendingtask",
    State.READY: "pendingtask",
    State.RUNNING: "runningtask",
    State.FAILED: "failedtask",
}


@page(Task)
class TaskAdmin(TaskAdminBase):
    tabs = (
        Tab(
            name="all",
            listing="all",
            label=gettext_lazy("All"),
            changes=tuple(CHANGES),
            empty=gettext_lazy("No tasks yet."),
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

    def empty_note(self) -> Any:
        return _("None was added in the last 24 hours; choose another time above.") if Task.objects.exists() else ""

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
            path("", view(self.changelist_view), name="locqueue_task_changelist"),
            *self.get_file_urls(),
            path("<int:task_id>/change/", view(self.page_view), name="locqueue_task_change"),
            path("<object_id>/history/", view(self.history_view), name="locqueue_task_history"),
            *(
                path(
                    f"<int:task_id>/{change.name}/",
                    view(self.change_one_view),
                    {"change": change},
                    name=f"locqueue_task_{change.name}",
                )
                for change in CHANGES.values()
            ),
        ]

    # -- the page

    def page_view(self, request: Any, task_id: int) -> Any:
        if not self.has_view_permission(request):
            raise PermissionDenied
        if request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(["GET", "HEAD"])
        task = one_task(task_id)
        if task is None:
            text = _("Task #%(id)s does not exist. It may have been deleted.") % {"id": task_id}
            self.message_user(request, text, messages.WARNING)
            return HttpResponseRedirect(self.list_url("task"))
        request.current_app = self.admin_site.name
        list_name = LISTS.get(State(task.state), "task") if task.state in State.values else "task"
        list_model = Task._meta.apps.get_model("locqueue", list_name)
        return TemplateResponse(
            request,
            "admin/locqueue/task_page.html",
            {
                **self.admin_site.each_context(request),
                "title": f"{legible.line(task.name)} #{task.pk}",
                "opts": self.opts,
                "task": task,
                "task_path": legible.line(task.task_path),
                "queue_name": legible.line(task.queue_name),
                "badge": state_badge(task),
                "list_url": self.list_url(list_name),
                "list_name": list_model._meta.verbose_name_plural,
                "history_url": reverse("admin:locqueue_task_history", args=[task.pk], current_app=self.admin_site.name),
                "buttons": [
                    (self.change_url(change, task), change.label_for(task), change.name)
                    for change in CHANGES.values()
                    if change.is_offered(task) and may(request, change)
                ],
                "next": request.get_full_path(),
                "error_class": error_name(task.error_class),
                "error_message": legible.line(masking.mask_text(task.error_message)),
                "arguments": Payload(task.arguments_start, task.arguments_size),
                "arguments_drawn": draw_call(Payload(task.arguments_start, task.arguments_size)),
                "result": Payload(task.result_start, task.result_size),
                "result_drawn": draw_payload(Payload(task.result_start, task.result_size)),
                "metadata": Payload(task.metadata_start, task.metadata_size),
                "metadata_drawn": draw_payload(Payload(task.metadata_start, task.metadata_size)),
                "progress": progress_bar(task),
                "facts": [
                    *facts_of(task),
                    *self.schedule_of(task),
                    *self.place_of(task),
                    *facts_of_others(request, self.admin_site, task),
                ],
                "attempts": attempts_of(task, shown=request.GET.get("attempts", "")),
                "lq": Strip(request, self.admin_site, f"locqueue.{list_name}"),
            },
        )

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

    def list_url(self, model_name: str) -> str:
        return reverse(f"admin:locqueue_{model_name}_changelist", current_app=self.admin_site.name)

    # -- changes to one task

    def change_one_view(self, request: Any, task_id: int, change: Change) -> Any:
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not may(request, change):
            raise PermissionDenied(refusal(change))
        back = self.back_url(request, task_id, change)
        if change.question and request.POST.get("confirmed") != "yes":
            return self.confirmation(request, change, [task_id], back)
        task = Task.objects.only("id", "task_path").filter(pk=task_id).first() or Task(pk=task_id)
        changed = change.apply(get_store(), [task_id], asker_of(request))
        if changed.done or changed.asked:
            self.message_user(request, change.sentences(changed, 1), messages.SUCCESS)
            logged = change.logged if changed.done else _("Asked to stop.")
            LogEntry.objects.log_actions(
                request.user.pk, [task], change.log_flag, change_message=str(logged), single_object=True
            )
        else:
            self.message_user(request, str(change.nothing), messages.WARNING)
        return HttpResponseRedirect(back)

    def back_url(self, request: Any, task_id: int, change: Change) -> str:
        """Return where the person came from, if that is a page of this site."""
        wanted: str = request.GET.get("next", "")
        page = self.task_url(Task(pk=task_id))
        is_ours = wanted.startswith("/") and url_has_allowed_host_and_scheme(
            wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
        )
        if not is_ours:
            wanted = page
        return self.list_url("task") if change.name == "delete" and wanted.startswith(page) else wanted


def one_task(task_id: int) -> Any:
    """Return the task with the beginnings of what may be large, or None."""
    rows = Task.objects.defer(*WIDE_COLUMNS).annotate(
        arguments_start=Left("args_kwargs", WHOLE),
        arguments_size=Length("args_kwargs"),
        result_start=Left("return_value", WHOLE),
        result_size=Length("return_value"),
        metadata_start=Left("metadata", WHOLE),
        metadata_size=Length("metadata"),
        worker_ids_end=Right("worker_ids", 2_000),
    )
    return rows.filter(pk=task_id).first()
