"""Failures of one kind."""

from datetime import datetime, timedelta

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from django_locqueue.models.database import QueueManager
from django_locqueue.models.fields import MomentField
from django_locqueue.policies import legible

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
