"""A named line of tasks."""

from typing import Any

from django.db import models
from django.db.models import Case, Q, Value, When
from django.utils.translation import gettext_lazy as _

from django_locqueue.models.fields import NameField, QueueManager
from django_locqueue.models.task import NAME_LENGTH
from django_locqueue.policies import legible


class QueueQuerySet(models.QuerySet["Queue"]):
    def paused(self, now: Any) -> "QueueQuerySet":
        """From which nothing is claimed. ``now``: a datetime or the database's clock."""
        return self.filter(_is_paused(now))

    def with_pause(self, now: Any) -> "QueueQuerySet":
        """Say of each whether it ``is_paused``: a pause may be over and still stand in the row."""
        return self.annotate(is_paused=Case(When(_is_paused(now), then=Value(True)), default=Value(False)))


def _is_paused(now: Any) -> Q:
    return Q(paused_at__isnull=False) & (Q(paused_until=None) | Q(paused_until__gt=now))


class NamedQueueManager(QueueManager.from_queryset(QueueQuerySet)):  # type: ignore[misc]
    pass


class Queue(models.Model):
    """A queue that a worker has served. Queues need not be declared; the first claim makes the row."""

    name = NameField(_("name"), max_length=NAME_LENGTH, primary_key=True)
    paused_at = models.DateTimeField(_("paused"), null=True, blank=True)
    paused_by = models.CharField(_("paused by"), max_length=150, default="", blank=True)
    paused_until = models.DateTimeField(_("paused until"), null=True, blank=True)  # None: until somebody resumes it
    pause_reason = models.CharField(_("reason"), max_length=200, default="", blank=True)

    objects = NamedQueueManager()

    class Meta:
        verbose_name = _("queue")
        verbose_name_plural = _("Queues")
        default_permissions = ("view",)
        permissions = [("pause_queue", _("Can pause and resume queues"))]

    def __str__(self) -> str:
        return legible.line(self.name)
