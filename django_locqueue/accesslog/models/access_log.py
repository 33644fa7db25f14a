"""The access log: one row per recorded request."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from django_locqueue.accesslog import hit
from django_locqueue.accesslog.models.location import Location
from django_locqueue.accesslog.visible import visible


class AccessLog(models.Model):
    """A stored hit."""

    hit_id = models.CharField(max_length=32, unique=True, editable=False)  # a batch that is stored twice adds nothing
    time = models.DateTimeField(_("time"))
    ip = models.GenericIPAddressField(_("IP address"), null=True, blank=True)
    location = models.ForeignKey(
        Location,
        verbose_name=_("location (estimated)"),
        db_column="prefix",
        null=True,
        blank=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,  # the log is right without its locations, and may be pruned apart from them
        db_index=False,
        related_name="+",
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("user"),
        null=True,
        blank=True,
        # Not SET_NULL: nobody would know any more whose addresses to forget, and who deletes a user would wait until
        # all of their rows are written. See ``user_deletion``.
        on_delete=models.DO_NOTHING,
        # A user who is deleted between the request and its storing must not fail the whole batch.
        db_constraint=False,
        db_index=False,
        related_name="+",
    )
    method = models.CharField(_("method"), max_length=hit.METHOD_LENGTH)
    host = models.CharField(_("host"), max_length=hit.HOST_LENGTH, blank=True)
    path = models.CharField(_("path"), max_length=hit.PATH_LENGTH)
    action = models.CharField(_("action"), max_length=hit.ACTION_LENGTH, blank=True)
    route = models.CharField(_("route"), max_length=hit.ROUTE_LENGTH, blank=True)
    status = models.PositiveSmallIntegerField(_("status"))
    duration_ms = models.FloatField(_("took (ms)"))
    bytes = models.PositiveBigIntegerField(_("bytes"), null=True, blank=True)
    is_bot = models.BooleanField(_("bot"), default=False)
    user_agent = models.CharField(_("user agent"), max_length=hit.USER_AGENT_LENGTH, blank=True)
    referer = models.CharField(_("referrer"), max_length=hit.REFERER_LENGTH, blank=True)
    streaming = models.BooleanField(_("streamed"), default=False)
    weight = models.FloatField(_("stands for"), default=1.0)  # requests, if only a sample is kept
    query = models.CharField(_("query"), max_length=hit.QUERY_LENGTH, blank=True, default="")
    visitor = models.CharField(_("visitor"), max_length=hit.VISITOR_LENGTH, blank=True, default="")
    task_ids = models.CharField(_("tasks that it enqueued"), max_length=hit.TASK_IDS_LENGTH, blank=True, default="")

    class Meta:
        verbose_name = _("logged request")
        verbose_name_plural = _("Access log")
        default_permissions = ("view", "delete")
        permissions = [
            ("view_full_ip", _("Can see full IP addresses")),
            ("export_data", _("Can export data")),
        ]
        # Each ends as the list is ordered: newest first, by the time of the request. Imported rows are old, and their
        # times are whole seconds, which many share.
        indexes = [
            models.Index(fields=["time", "id"], name="locqueue_accesslog_time"),
            models.Index(fields=["location", "time", "id"], name="locqueue_accesslog_network"),
            models.Index(fields=["user", "time", "id"], name="locqueue_accesslog_user"),
        ]

    def __str__(self) -> str:
        return visible(f"{self.method} {self.path} {self.status}")

    @property
    def prefix(self) -> str | None:
        """The network of the address; its location's key."""
        return self.location_id
