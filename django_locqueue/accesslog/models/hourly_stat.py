"""What happened in an hour, counted: what the analytics read instead of the log."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from django_locqueue.models.fields import JSONTextField


class HourlyStat(models.Model):
    """The requests of one hour that share a key: of one path, of one country, or all of them.

    An hour is counted again as a whole when something in it changed, and its rows are replaced. Counts are weighted:
    of sampled requests each stands for ``weight``.
    """

    class Dimension(models.TextChoices):
        ALL = "all", _("All requests")  # one key, the empty one
        STATUS = "status", _("Status")  # "2" for 2xx, ...
        COUNTRY = "country", _("Country/region")
        PROVINCE = "province", _("Province")  # "country|province": there is a Victoria in more than one country
        CITY = "city", _("City")  # "country|province|city"
        ISP = "isp", _("Network operator")
        PATH = "path", _("Path")
        ACTION = "action", _("Action")
        IP = "ip", _("IP address")
        REFERER = "referer", _("Referrer")

    hour = models.DateTimeField(_("hour"))  # its beginning, UTC
    dimension = models.CharField(max_length=8, choices=Dimension)
    key = models.CharField(max_length=512, blank=True)  # empty: not known
    is_bot = models.BooleanField(default=False)
    hits = models.PositiveBigIntegerField()
    errors = models.PositiveBigIntegerField()  # 5xx
    total_ms = models.FloatField()
    longest_ms = models.FloatField()
    histogram = JSONTextField()  # hits by duration, in the classes of analytics.histogram
    closed = models.BooleanField(default=False)  # of ALL only: the log of the hour is pruned, so these counts are final
    visitors = models.BinaryField(null=True)  # of ALL only: analytics.sketch of the addresses

    class Meta:
        verbose_name = _("hourly count")
        default_permissions = ()
        indexes = [models.Index(fields=["dimension", "hour"], name="locqueue_accesslog_hourly")]

    def __str__(self) -> str:
        return f"{self.hour:%Y-%m-%d %H}h {self.dimension} {self.key}: {self.hits}"


class StaleHour(models.Model):
    """Something in this hour changed since it was counted. Whoever changed it adds a row, in the same transaction.

    Rows are only added, and deleted by who counts: one row for an hour, to be updated, would make every batch of hits
    wait for the one before. And a row that is inserted only if it is not there would be lost to a count that has begun.
    """

    hour = models.DateTimeField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.hour:%Y-%m-%d %H}h"
