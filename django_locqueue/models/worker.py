"""A process that runs tasks."""

from typing import Any

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from django_locqueue.models.fields import QueueManager
from django_locqueue.models.task import NAME_LENGTH
from django_locqueue.policies import legible

CODE_VERSION_LENGTH = 64


class WorkerQuerySet(models.QuerySet["Worker"]):
    """Adjectives for workers. ``now``: a datetime or the database's clock."""

    def live(self, now: Any) -> "WorkerQuerySet":
        return self.filter(stopped_at=None, lease_until__gt=now)

    def expired(self, now: Any) -> "WorkerQuerySet":
        """Silent for longer than their lease: their tasks are to be rescued."""
        return self.filter(stopped_at=None, lease_until__lte=now)

    def unsettled(self) -> "WorkerQuerySet":
        """Stopped of late, or with tasks that are not rescued yet."""
        return self.filter(stopped_at__isnull=False, settled=False)


class Worker(models.Model):
    """One process that runs tasks. Its claims are honoured until ``lease_until``, which each heartbeat extends."""

    id = models.BigAutoField(primary_key=True)
    # Not unique: a new container may have the host name and the pid of a dead one.
    name = models.CharField(_("name"), max_length=NAME_LENGTH)
    queues = models.TextField(_("queues"), default="", blank=True)  # comma-separated; empty: all
    threads = models.PositiveSmallIntegerField(_("threads"), default=1)
    version = models.CharField(_("version"), max_length=32, default="", blank=True)
    started_at = models.DateTimeField(_("started"), default=timezone.now)
    heartbeat_at = models.DateTimeField(_("heartbeat"), default=timezone.now)
    lease_until = models.DateTimeField(_("lease until"), default=timezone.now)
    stopping = models.BooleanField(_("stopping"), default=False)
    stopped_at = models.DateTimeField(_("stopped"), null=True, blank=True)
    stop_requested = models.BooleanField(default=False, db_default=False)  # read at its next heartbeat
    succeeded = models.BigIntegerField(_("done"), default=0, db_default=0)  # attempts, since it started
    failed = models.BigIntegerField(_("failed"), default=0, db_default=0)
    memory_mb = models.PositiveIntegerField(_("memory"), null=True, blank=True)
    # The project's, as LOCQUEUE["WORKER"]["CODE_VERSION"] says.
    code_version = models.CharField(_("code"), max_length=CODE_VERSION_LENGTH, default="", db_default="", blank=True)
    settled = models.BooleanField(default=False, db_default=False)  # stopped, and nothing of it is left to be rescued

    objects = QueueManager.from_queryset(WorkerQuerySet)()

    class Meta:
        verbose_name = _("worker")
        verbose_name_plural = _("Workers")
        default_permissions = ("view",)
        permissions = [("stop_worker", _("Can stop workers"))]
        indexes = [models.Index(fields=["stopped_at", "lease_until"], name="locqueue_worker_lease")]

    def __str__(self) -> str:
        return legible.line(self.name)
