"""What people have changed, and the changes to many tasks that are made for them in the background."""

import uuid
from typing import Any

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from django_locqueue.models.fields import JSONTextField, MomentField, QueueManager
from django_locqueue.models.task import NAME_LENGTH
from django_locqueue.policies import legible

REASON_LENGTH = 200


class Activity(models.Model):
    """One change that a person made, in admin or by a command. Is only ever added."""

    id = models.BigAutoField(primary_key=True)
    time = MomentField(_("time"), default=timezone.now)
    user_name = models.CharField(_("user"), max_length=150, default="", blank=True)  # text: users are deleted
    source = models.CharField(_("from"), max_length=64, default="", blank=True)  # an IP address, or "command"
    request_id = models.CharField(max_length=64, default="", blank=True)
    verb = models.CharField(_("what"), max_length=32)
    target = models.CharField(max_length=NAME_LENGTH, default="", blank=True)  # of a single object: its name or number
    selection = JSONTextField(null=True, blank=True)  # of many tasks: the filter, or their ids
    matched = models.BigIntegerField(null=True, blank=True)
    changed = models.BigIntegerField(_("changed"), default=0)
    skipped = models.BigIntegerField(_("skipped"), default=0)
    reason = models.CharField(_("reason"), max_length=REASON_LENGTH, default="", blank=True)

    objects = QueueManager()

    class Meta:
        verbose_name = _("activity")
        verbose_name_plural = _("Activity")
        default_permissions = ("view",)
        indexes = [models.Index(fields=["user_name", "-id"], name="locqueue_activity_user")]

    def __str__(self) -> str:
        return legible.line(f"{self.user_name}: {self.verb}")


class BulkOperation(models.Model):
    """One change to all tasks that match a filter.

    Workers go through the tasks of ``selection`` whose id is at most ``upper_id``, behind ``cursor``.
    """

    class State(models.TextChoices):
        WAITING = "waiting", _("Waiting for a worker")
        RUNNING = "running", _("Running")
        DONE = "done", _("Done")
        STOPPED = "stopped", _("Stopped")
        FAILED = "failed", _("Failed")

    id = models.BigAutoField(primary_key=True)
    nonce = models.UUIDField(unique=True, default=uuid.uuid4)  # of the form that asked: sent twice, it begins one
    state = models.CharField(_("state"), max_length=10, choices=State, default=State.WAITING)
    verb = models.CharField(_("what"), max_length=32)
    selection: Any = JSONTextField(default=dict)
    options: Any = JSONTextField(default=dict)  # of the change: a time, a queue, a fresh set of attempts
    upper_id = models.BigIntegerField()  # what is enqueued later is not meant
    most = models.BigIntegerField()  # tasks that are changed at most
    rate = models.PositiveIntegerField(null=True, blank=True)  # a minute; None: as fast as it goes
    cursor: Any = JSONTextField(null=True, blank=True)
    matched = models.BigIntegerField(_("matched"), default=0)  # when it was asked for; capped
    changed = models.BigIntegerField(_("changed"), default=0)
    skipped = models.BigIntegerField(_("skipped"), default=0)
    user_id = models.CharField(max_length=64, default="", blank=True)  # whose permission is asked for again
    user_name = models.CharField(_("user"), max_length=150, default="", blank=True)
    reason = models.CharField(_("reason"), max_length=REASON_LENGTH, default="", blank=True)
    stopped_by = models.CharField(_("stopped by"), max_length=150, default="", blank=True)
    problem = models.CharField(max_length=200, default="", blank=True)  # why it failed
    created_at = MomentField(_("asked for"), default=timezone.now)
    next_at = MomentField(default=timezone.now)  # when a worker may go on: until then another has it, or it rests
    started_at = MomentField(_("started"), null=True, blank=True)
    finished_at = MomentField(_("finished"), null=True, blank=True)

    objects = QueueManager()

    # Problems, as they are stored; pages translate them.
    NOT_ACTIVE = gettext_noop("The person who asked for it is no longer active.")
    NOT_PERMITTED = gettext_noop("The person who asked for it may no longer do this.")
    NOT_POSSIBLE = gettext_noop("It asks for something that this version does not know.")

    class Meta:
        verbose_name = _("bulk operation")
        verbose_name_plural = _("Bulk operations")
        default_permissions = ("view",)
        indexes = [models.Index(fields=["state", "next_at"], name="locqueue_bulk_next")]

    def __str__(self) -> str:
        return f"{self.verb} #{self.pk}"

    @property
    def noted(self) -> Any:
        """What an activity says of it: which tasks, and what was chosen; as it is, if that is nothing we know."""
        if not (self.options and isinstance(self.selection, dict)):
            return self.selection
        return {**self.selection, "options": self.options}

    @property
    def is_finished(self) -> bool:
        return self.state not in (self.State.WAITING, self.State.RUNNING)
