"""What people have changed."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from django_locqueue.models.database import QueueManager
from django_locqueue.models.fields import JSONTextField, MomentField
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
