"""Tasks that belong together: steps, one after the other, of one or many tasks each."""

from typing import Any, NamedTuple

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from django_locqueue.models.fields import JSONTextField, MomentField, QueueManager
from django_locqueue.models.task import NAME_LENGTH, PATH_LENGTH
from django_locqueue.policies import legible


class StoredStep(NamedTuple):
    """``label``: what a person reads. ``size``: tasks. ``runs_on_failure``: also when one before did not succeed.

    ``is_limited``: tasks of it wait under limits when its turn comes. ``forgets``: tasks of it are deleted when the
    workflow has succeeded.
    """

    label: str
    size: int
    runs_on_failure: bool = False
    is_limited: bool = False
    forgets: bool = False


class Workflow(models.Model):
    """``remaining`` counts the tasks of the present step that have not ended, so that no end counts its siblings."""

    class State(models.TextChoices):
        RUNNING = "running", _("Running")
        SUCCESSFUL = "successful", _("Succeeded")
        FAILED = "failed", _("Failed")
        CANCELLED = "cancelled", _("Cancelled")

    id = models.BigAutoField(primary_key=True)
    name = models.CharField(_("name"), max_length=PATH_LENGTH, default="", blank=True)
    state = models.CharField(_("state"), max_length=10, choices=State, default=State.RUNNING)
    step = models.PositiveIntegerField(_("step"), default=0)  # the present one, from 0
    steps = models.PositiveIntegerField(_("steps"), default=1)
    remaining = models.PositiveIntegerField(_("remaining"), default=0)  # of the present step
    broken = models.PositiveIntegerField(default=0)  # tasks of the steps so far that did not succeed, or are gone
    plan: Any = JSONTextField(default=list)  # a StoredStep for each step
    tasks_total = models.PositiveIntegerField(_("tasks"), default=0)
    successful = models.PositiveIntegerField(_("succeeded"), default=0)
    failed = models.PositiveIntegerField(_("failed"), default=0)
    cancelled = models.PositiveIntegerField(_("cancelled"), default=0)
    cancel_requested = models.BooleanField(_("asked to stop"), default=False)
    backend_alias = models.CharField(_("backend"), max_length=NAME_LENGTH, default="default")
    enqueued_at = MomentField(_("added"), default=timezone.now)
    finished_at = MomentField(_("finished"), null=True, blank=True)

    objects = QueueManager()

    class Meta:
        verbose_name = _("workflow")
        verbose_name_plural = _("Workflows")
        default_permissions = ()  # its pages ask for those of tasks
        indexes = [models.Index(fields=["state", "finished_at", "id"], name="locqueue_workflow_finished")]

    def __str__(self) -> str:
        return legible.line(f"{self.name} #{self.pk}")

    @property
    def stored_steps(self) -> list[StoredStep]:
        return [StoredStep(*each) for each in self.plan]

    @property
    def ended(self) -> int:
        """How many of its tasks have ended."""
        return int(self.successful + self.failed + self.cancelled)
