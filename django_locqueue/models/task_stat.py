"""How many tasks ended in a minute, an hour or a day, and how long they waited and ran."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from django_locqueue.models.database import QueueManager
from django_locqueue.models.fields import MomentField, NameField
from django_locqueue.models.task import NAME_LENGTH, PATH_LENGTH
from django_locqueue.policies.histogram import BINS


class TaskStat(models.Model):
    """Attempts of one task in one queue that ended in ``seconds`` seconds from ``start``.

    Counted when its end was stored: each attempt that succeeded, failed for good, failed and was put back, or was
    cancelled. Also what ended without a run: waiting tasks that were cancelled, skipped or too late; those whose worker
    died (put back, or failed); those whose row nobody could read. Not counted: what was given back unrun, what asked
    to run later, and what was deleted. The seconds and the bins are of attempts that ended by themselves; where a task
    was put back at once nobody knows since when it has waited.

    Workers add to three rows, of the minute, the hour and the day, so that none has to be made of others later, and
    nothing reads the task table for what has been. The columns of a bin cannot be a list: each is added to in the
    database.
    """

    MINUTE, HOUR, DAY = 60, 3600, 86400
    COUNTS = ("succeeded", "failed", "retried", "cancelled")  # how the attempts ended

    id = models.BigAutoField(primary_key=True)
    seconds = models.PositiveIntegerField(choices=[(MINUTE, _("Minute")), (HOUR, _("Hour")), (DAY, _("Day"))])
    start = MomentField()  # of the span, in UTC
    queue_name = NameField(max_length=NAME_LENGTH)
    task_path = NameField(max_length=PATH_LENGTH)
    for _name in COUNTS:
        vars()[_name] = models.BigIntegerField(default=0)
    wait_seconds = models.FloatField(default=0)  # the sum, from ready to started
    run_seconds = models.FloatField(default=0)  # the sum, from started to ended
    for _bin in range(BINS):
        vars()[f"wait_{_bin}"] = models.BigIntegerField(default=0)
        vars()[f"run_{_bin}"] = models.BigIntegerField(default=0)
    del _name, _bin

    objects = QueueManager()

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(
                fields=["seconds", "start", "queue_name", "task_path"], name="locqueue_taskstat_span"
            )
        ]

    def __str__(self) -> str:
        return f"{self.task_path} in {self.queue_name}, {self.seconds} s from {self.start}"
