"""What is wrong with a location service, as all workers share it."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from django_locqueue.accesslog.visible import visible


class ProviderState(models.Model):
    """The breaker of one service: whether it is asked. No row: nothing was ever wrong with it."""

    class Trouble(models.TextChoices):
        NONE = "", _("None")
        FAILING = "failing", _("Does not answer")
        EXHAUSTED = "exhausted", _("Quota used up")
        DENIED = "denied", _("Access denied")

    name = models.CharField(_("data source"), max_length=32, primary_key=True)
    trouble = models.CharField(_("trouble"), max_length=9, choices=Trouble, default=Trouble.NONE, blank=True)
    reason = models.CharField(_("reason"), max_length=200, blank=True, default="")
    failures = models.PositiveIntegerField(_("failures in a row"), default=0)
    open_until = models.DateTimeField(_("not asked before"), null=True, blank=True)  # None: it may be asked
    changed_at = models.DateTimeField(_("since"))

    class Meta:
        verbose_name = _("location service")
        verbose_name_plural = _("Location services")
        default_permissions = ("view", "delete")

    def __str__(self) -> str:
        return visible(self.name)
