"""What is known of a limit: when the next task may start under it."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from django_locqueue.models.fields import MomentField, NameField, QueueManager
from django_locqueue.models.task import KEY_LENGTH
from django_locqueue.policies import legible, masking

KIND_LENGTH = 2  # r:, c:, k:


class Limit(models.Model):
    """A rate, or a number of running tasks, that many share. Made by the first worker that serves the key.

    Whoever claims under the key holds the row's lock. ``concurrency`` and ``rate`` are those of the last task that was
    served, for pages; what counts stands in the tasks' own terms.
    """

    key = NameField(_("key"), max_length=KEY_LENGTH, primary_key=True)
    concurrency = models.PositiveIntegerField(_("at once"), null=True, blank=True)
    rate = models.CharField(_("rate"), max_length=40, default="", blank=True)
    # Its bucket of tokens, see policies/ratelimit: when it is full again, and since when tokens can come back.
    full_at = MomentField(null=True, blank=True)
    since = MomentField(null=True, blank=True)
    next_at = MomentField(_("next start"), null=True, blank=True)  # not before; None: at once
    paused_until = MomentField(_("paused until"), null=True, blank=True)
    served_at = MomentField(_("last served"), default=timezone.now, db_index=True)  # to within an hour

    objects = QueueManager()

    class Meta:
        verbose_name = _("limit")
        verbose_name_plural = _("Limits")
        default_permissions = ("view",)

    def __str__(self) -> str:
        return self.name_of(self.key)

    @staticmethod
    def name_of(key: str) -> str:
        """Return the name under which a person knows it: without what tells kinds of keys apart, and masked."""
        return legible.line(masking.mask_text(key[KIND_LENGTH:]))
