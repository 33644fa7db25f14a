"""When a task is to be enqueued again and again."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from django_locqueue.models.fields import JSONTextField, MomentField, NameField, QueueManager
from django_locqueue.models.task import NAME_LENGTH, PATH_LENGTH
from django_locqueue.policies import legible


class Schedule(models.Model):
    """A rule, ``cron`` or ``every``, and the call that it makes."""

    class Missed(models.TextChoices):
        ONCE = "once", _("Once")
        SKIP = "skip", _("Skip")
        ALL = "all", _("All")

    class Source(models.TextChoices):
        CODE = "code", _("Code")
        ADMIN = "admin", _("Admin")

    id = models.BigAutoField(primary_key=True)
    name = NameField(_("name"), max_length=NAME_LENGTH, unique=True)
    task_path = models.CharField(_("task"), max_length=PATH_LENGTH)
    args_kwargs = JSONTextField(_("arguments"), default=dict)
    cron = models.CharField(_("cron rule"), max_length=200, default="", blank=True)
    every = models.PositiveIntegerField(_("every … seconds"), null=True, blank=True)
    timezone = models.CharField(_("time zone"), max_length=64, default="", blank=True)  # empty: the project's
    missed = models.CharField(_("missed runs"), max_length=4, choices=Missed, default=Missed.ONCE)
    source = models.CharField(_("source"), max_length=5, choices=Source, default=Source.ADMIN)
    enabled = models.BooleanField(_("on"), default=True)
    removed_at = MomentField(_("removed from code"), null=True, blank=True)
    problem = models.CharField(_("problem"), max_length=200, default="", blank=True)  # why it cannot run, or did not
    next_at = MomentField(_("next"), null=True, blank=True)  # the slot to be run next; with `enabled`, None: not known
    last_at = MomentField(_("last"), null=True, blank=True)  # the slot that was run last, and its task
    last_task_id = models.BigIntegerField(null=True, blank=True)

    objects = QueueManager()

    class Meta:
        verbose_name = _("schedule")
        verbose_name_plural = _("Schedules")
        default_permissions = ("view",)
        permissions = [("manage_schedule", _("Can change schedules"))]
        indexes = [models.Index(fields=["enabled", "next_at"], name="locqueue_schedule_due")]

    def __str__(self) -> str:
        return legible.line(self.name)


class ScheduleRun(models.Model):
    """One run of a schedule: its row and the task are stored together, so that no two workers enqueue the same.

    A run by hand has the time at which it was asked for as its slot.
    """

    id = models.BigAutoField(primary_key=True)
    schedule = models.ForeignKey(Schedule, verbose_name=_("schedule"), on_delete=models.CASCADE, related_name="runs")
    slot = MomentField(_("slot"))  # the time that the rule names
    task_id = models.BigIntegerField(_("task"), null=True)  # None: it could not be enqueued
    problem = models.CharField(_("problem"), max_length=200, default="", blank=True)
    started_by = models.CharField(_("run by"), max_length=150, default="", blank=True)  # empty: its time had come

    objects = QueueManager()

    class Meta:
        verbose_name = _("run")
        verbose_name_plural = _("runs")
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["schedule", "slot"], name="locqueue_schedulerun_slot")]

    def __str__(self) -> str:
        return f"{self.schedule} at {self.slot}"
