"""What is counted of attempts that have ended: how many in a minute, an hour or a day, and their failures by kind."""

from datetime import datetime, timedelta

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from django_locqueue.models.fields import MomentField, NameField, QueueManager
from django_locqueue.models.task import NAME_LENGTH, PATH_LENGTH
from django_locqueue.policies import legible
from django_locqueue.policies.histogram import BINS

FINGERPRINT_LENGTH = 40
NEW = timedelta(hours=24)  # since it was first met; so long one is "back", too
QUIET = timedelta(days=7)  # a kind that is met again after as long is "back"


class ErrorGroup(models.Model):
    """All attempts that failed with the same ``fingerprint`` (policies/fingerprint.py), whatever their tasks became.

    Its row comes with the counts, some seconds after the first task that names it.
    """

    fingerprint = models.CharField(max_length=FINGERPRINT_LENGTH, primary_key=True)
    error_class = models.CharField(_("error"), max_length=255)
    message = models.CharField(_("message"), max_length=200, default="", blank=True)  # without numbers and names
    place = models.CharField(_("place"), max_length=255, default="", blank=True)  # shop/mail.py:41 send
    task_path = models.CharField(_("task"), max_length=255, default="", blank=True)  # the last that failed so
    first_seen = MomentField(_("first seen"), default=timezone.now)
    last_seen = MomentField(_("last seen"), default=timezone.now)
    back_at = MomentField(null=True, blank=True)  # when it last came back after days of quiet
    total = models.BigIntegerField(default=0)

    objects = QueueManager()

    class Meta:
        verbose_name = _("error")
        verbose_name_plural = _("errors")
        default_permissions = ()  # its page asks for those of tasks
        indexes = [models.Index(fields=["-last_seen"], name="locqueue_error_last_seen")]

    def __str__(self) -> str:
        return legible.line(f"{self.error_class}: {self.message}")

    def is_new(self, now: datetime) -> bool:
        """First met within a day."""
        return bool(self.first_seen > now - NEW)

    def is_back(self, now: datetime) -> bool:
        """Met again, within a day, after a week without it."""
        return self.back_at is not None and bool(self.back_at > now - NEW)


class ErrorCount(models.Model):
    """How often a kind of failure was met in an hour."""

    id = models.BigAutoField(primary_key=True)
    group = models.ForeignKey(ErrorGroup, on_delete=models.CASCADE, db_constraint=False, related_name="counts")
    hour = MomentField()
    count = models.BigIntegerField(default=0)

    objects = QueueManager()

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["group", "hour"], name="locqueue_errorcount_hour")]
        indexes = [models.Index(fields=["hour"], name="locqueue_errorcount_age")]

    def __str__(self) -> str:
        return f"{self.count} in the hour from {self.hour}"


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
