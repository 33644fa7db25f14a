"""Where a network is."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from django_locqueue.accesslog.geo import data_version, reserved
from django_locqueue.accesslog.prefix import PREFIX_LENGTH
from django_locqueue.accesslog.visible import visible


class Location(models.Model):
    """One network prefix and its place. The log joins it, so that finding a place writes one row, not one per hit."""

    class State(models.TextChoices):
        PENDING = "pending", _("Not looked up yet")
        LOCATED = "located", _("Located")
        RESERVED = "reserved", _("Not a public address")
        UNKNOWN = "unknown", _("Unknown")
        FAILED = "failed", _("Lookup failed")  # nobody could be asked

    prefix = models.CharField(_("network"), max_length=PREFIX_LENGTH, primary_key=True)
    state = models.CharField(_("state"), max_length=8, choices=State, default=State.PENDING)
    country_code = models.CharField(_("country code"), max_length=2, blank=True, default="")
    country = models.CharField(_("country/region"), max_length=64, blank=True, default="")
    province = models.CharField(_("province"), max_length=64, blank=True, default="")
    city = models.CharField(_("city"), max_length=64, blank=True, default="")
    district = models.CharField(_("district"), max_length=64, blank=True, default="")
    isp = models.CharField(_("network operator"), max_length=64, blank=True, default="")
    adcode = models.CharField(_("administrative code"), max_length=12, blank=True, default="")  # GB/T 2260 in China
    latitude = models.FloatField(_("latitude"), null=True, blank=True)
    longitude = models.FloatField(_("longitude"), null=True, blank=True)
    provider = models.CharField(_("data source"), max_length=32, blank=True, default="")
    precision = models.CharField(_("precision"), max_length=8, blank=True, default="")
    # Of the files that were asked, whether or not it was they who knew.
    data_version = models.CharField(_("data version"), max_length=data_version.LENGTH, blank=True, default="")
    # When its lookup was last enqueued; also what tells the transaction that did so from one that was too late.
    requested_at = models.DateTimeField(default=timezone.now, editable=False)
    resolved_at = models.DateTimeField(_("looked up"), null=True, blank=True)

    class Meta:
        verbose_name = _("location")
        verbose_name_plural = _("Locations")
        default_permissions = ("view", "delete")
        # What was located with other data than today's is found at its two ends.
        indexes = [models.Index(fields=["data_version"], name="locqueue_accesslog_data")]

    def __str__(self) -> str:
        return visible(f"{self.prefix}: {self.text}")

    @property
    def text(self) -> str:
        """The place as a person reads it: ``中国 · 浙江 · 杭州``, or why there is none."""
        if self.state == self.State.RESERVED:
            return str(reserved.label(self.prefix) or self.State.RESERVED.label)
        parts = [self.country or self.country_code, self.province, self.city, self.district]
        # 北京 is a province and its own city; it is said once.
        places = [part for n, part in enumerate(parts) if part and (n == 0 or part != parts[n - 1])]
        return " · ".join(places) or str(self.State(self.state).label)
