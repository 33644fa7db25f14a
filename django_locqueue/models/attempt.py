"""One try at a task that did not end well."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from django_locqueue.models.database import QueueManager
from django_locqueue.models.fields import MomentField
from django_locqueue.models.task import NAME_LENGTH, PATH_LENGTH, Task

TASK_INDEX = "locqueue_taskattempt_task"


class TaskAttempt(models.Model):
    """What a try left that did not succeed: when, where, and the traceback. A successful try leaves none."""

    class Outcome(models.TextChoices):
        FAILED = "failed", _("Failed")
        CRASHED = "crashed", _("Worker lost")
        CANCELLED = "cancelled", _("Cancelled")

    id = models.BigAutoField(primary_key=True)
    # Without a constraint: prune deletes attempts and tasks in batches of its own.
    task = models.ForeignKey(
        Task,
        verbose_name=_("task"),
        on_delete=models.CASCADE,
        db_constraint=False,
        db_index=False,  # it has one below, by a name that a statement can say
        related_name="attempts",
    )
    number = models.PositiveIntegerField(_("number"))
    outcome = models.CharField(_("outcome"), max_length=10, choices=Outcome)
    worker_name = models.CharField(_("worker"), max_length=NAME_LENGTH)
    started_at = MomentField(_("started"), null=True)
    finished_at = MomentField(_("finished"))
    error_class = models.CharField(_("error"), max_length=PATH_LENGTH)
    error_message = models.CharField(_("error message"), max_length=200, default="", blank=True)
    traceback = models.TextField(_("traceback"), default="", blank=True)

    objects = QueueManager()

    class Meta:
        verbose_name = _("attempt")
        verbose_name_plural = _("attempts")
        default_permissions = ()
        indexes = [models.Index(fields=["task"], name=TASK_INDEX)]

    def __str__(self) -> str:
        return f"attempt {self.number} of #{self.task_id}"
