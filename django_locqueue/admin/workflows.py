"""The list of workflows, and the page of one: its steps, how far each is, and the way to its tasks."""

from typing import Any, NamedTuple

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import path, reverse
from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from django_locqueue import endings
from django_locqueue.admin import moments
from django_locqueue.admin.badges import badge
from django_locqueue.admin.change import asker_of, may, refusal
from django_locqueue.admin.change_forms import ReasonForm, sent
from django_locqueue.admin.changes import CHANGES
from django_locqueue.admin.noting import note
from django_locqueue.admin.pages import page
from django_locqueue.admin.plain_list import PlainListAdmin
from django_locqueue.admin.task_base import TaskPermissions
from django_locqueue.models import Workflow
from django_locqueue.policies import legible
from django_locqueue.store import get_store
from django_locqueue.verbs import Applied

State = Workflow.State


class StepRow(NamedTuple):
    """A step as its page shows it."""

    number: int
    label: str
    size: int
    ended: int
    badge: Any
    runs_on_failure: bool


@page(Workflow)
class WorkflowAdmin(TaskPermissions, PlainListAdmin):
    empty = gettext_lazy("No workflows yet.")
    introduction = gettext_lazy("Tasks that were enqueued together and run step by step.")
    ordering = ("-id",)
    list_per_page = 50
    list_display = (
        "name_column",
        "state_column",
        "step_column",
        "progress_column",
        "added_column",
        "finished_column",
    )

    def get_queryset(self, request: Any) -> Any:
        return super().get_queryset(request).defer("plan")

    def get_urls(self) -> list[Any]:
        cancel = self.posted_to(self.cancel_view)
        return [
            path("<int:workflow_id>/change/", self.looked_at(self.page_view), name="locqueue_workflow_change"),
            path("<int:workflow_id>/cancel/", cancel, name="locqueue_workflow_cancel"),
            *super().get_urls(),
        ]

    def url(self, verb: str, workflow: Workflow) -> str:
        return reverse(f"admin:locqueue_workflow_{verb}", args=[workflow.pk], current_app=self.admin_site.name)

    # -- the list

    @admin.display(description=gettext_lazy("workflow"))
    def name_column(self, workflow: Workflow) -> Any:
        return format_html(
            '<a href="{}">{}</a> <span class="lq-quiet">#{}</span>',
            self.url("change", workflow),
            legible.line(workflow.name) or "?",
            workflow.pk,
        )

    @admin.display(description=gettext_lazy("state"))
    def state_column(self, workflow: Workflow) -> Any:
        return state_badge(workflow)

    @admin.display(description=gettext_lazy("step"))
    def step_column(self, workflow: Workflow) -> str:
        return f"{workflow.step + 1}/{workflow.steps}"

    @admin.display(description=gettext_lazy("progress"))
    def progress_column(self, workflow: Workflow) -> Any:
        return progress_bar(workflow)

    @admin.display(description=gettext_lazy("added"))
    def added_column(self, workflow: Workflow) -> Any:
        return moments.time_tag(workflow.enqueued_at)

    @admin.display(description=gettext_lazy("finished"))
    def finished_column(self, workflow: Workflow) -> Any:
        return moments.time_tag(workflow.finished_at) if workflow.finished_at else "–"

    # -- the page

    def page_view(self, request: Any, workflow_id: int) -> Any:
        workflow = Workflow.objects.filter(pk=workflow_id).first()
        if workflow is None:
            text = _("Workflow #%(id)s does not exist. It may have been deleted.") % {"id": workflow_id}
            self.message_user(request, text, messages.WARNING)
            return HttpResponseRedirect(self.list_url())
        may_cancel = workflow.state == State.RUNNING and may(request, CHANGES["cancel"])
        tasks = f"{self.list_url('task')}?workflow={workflow.pk}"
        return self.respond(
            request,
            "admin/locqueue/workflow_page.html",
            title=f"{_('Workflow')} #{workflow.pk}",
            workflow=workflow,
            badge=state_badge(workflow),
            progress=progress_bar(workflow),
            steps=steps_of(workflow),
            counts=[
                (label, number_format(count, force_grouping=True), f"{tasks}&state={state}")
                for label, count, state in (
                    (_("Succeeded"), workflow.successful, "successful"),
                    (_("Failed"), workflow.failed, "failed"),
                    (_("Cancelled"), workflow.cancelled, "cancelled"),
                )
            ],
            tasks_url=tasks,
            added=moments.time_tag(workflow.enqueued_at),
            finished=moments.time_tag(workflow.finished_at) if workflow.finished_at else "",
            cancel_url=self.url("cancel", workflow) if may_cancel else "",
        )

    def cancel_view(self, request: Any, workflow_id: int) -> Any:
        if not may(request, CHANGES["cancel"]):
            raise PermissionDenied(refusal(CHANGES["cancel"].codename))
        workflow = get_object_or_404(Workflow.objects.defer("plan"), pk=workflow_id)
        back = self.url("change", workflow)
        form = sent(request, ReasonForm)
        if not form.is_valid():
            question = _("Cancel workflow #%(id)s?") % {"id": workflow.pk}
            return self.ask(request, question, form, back=back, warning=CHANGES["cancel"].warning, is_dangerous=True)
        asker = asker_of(request)
        cancelled, asked = endings.cancel_workflow(get_store(), workflow.pk, asker.reason, by=asker.by)
        if cancelled or asked:
            said = CHANGES["cancel"].sentences(Applied(cancelled, asked), len(cancelled) + len(asked))
            self.message_user(request, said, messages.SUCCESS)
            self.log_change(request, workflow, str(CHANGES["cancel"].logged))
            changed = len(cancelled) + len(asked)
            note(request, "cancel_workflow", target=str(workflow.pk), changed=changed, reason=asker.reason)
        else:
            self.message_user(request, _("Nothing was changed: the workflow has already finished."), messages.WARNING)
        return HttpResponseRedirect(back)


def state_badge(workflow: Workflow) -> Any:
    return badge(f"workflow {workflow.state}")


def progress_bar(workflow: Workflow) -> Any:
    """Return how many of its tasks have ended, as a bar and in words."""
    return format_html(
        '<progress value="{}" max="{}"></progress> <span class="lq-quiet">{}/{}</span>',
        workflow.ended,
        max(1, workflow.tasks_total),
        number_format(workflow.ended, force_grouping=True),
        number_format(workflow.tasks_total, force_grouping=True),
    )


def steps_of(workflow: Workflow) -> list[StepRow]:
    """Return the steps with how far each is. Counts no task: the workflow's row knows what remains."""
    rows = []
    for number, step in enumerate(workflow.stored_steps):
        if number < workflow.step:
            ended, name = step.size, "step over"
        elif number == workflow.step:
            ended, name = (
                max(0, step.size - workflow.remaining),
                "step over" if workflow.finished_at else "step running",
            )
        else:
            ended, name = 0, "step left out" if workflow.finished_at else "step waiting"
        rows.append(StepRow(number + 1, legible.line(step.label), step.size, ended, badge(name), step.runs_on_failure))
    return rows
