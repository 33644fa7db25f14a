"""A named line of tasks."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from django_locqueue.models.database import QueueManager
from django_locqueue.models.fields import NameField
from django_locqueue.models.task import NAME_LENGTH


class Queue(models.Model):
    """A queue that a worker has served. Queues need not be declared; the first claim makes the row."""

    name = NameField(_("name"), max_length=NAME_LENGTH, primary_key=True)
    paused_at = models.DateTimeField(_("paused"), null=True, blank=True)
    paused_by = models.CharField(_("paused by"), max_length=150, default="", blank=True)
    paused_until = models.DateTimeField(_("paused until"), null=True, blank=True)  # None: until somebody resumes it
    pause_reason = models.CharField(_("reason"), max_length=200, default="", blank=True)

    objects = QueueManager()

    class Meta:
        verbose_name = _("queue")
        verbose_name_plural = _("Queues")
        default_permissions = ("view",)
        permissions = [("pause_queue", _("Can pause and resume queues"))]

    def __str__(self) -> str:
        return str(self.name)
