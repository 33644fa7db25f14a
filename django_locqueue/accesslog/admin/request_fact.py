"""On the page of a task: the request that enqueued it."""

from collections.abc import Iterator
from typing import Any

from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _

from django_locqueue.accesslog.admin.shown import VIEW
from django_locqueue.accesslog.models import AccessLog
from django_locqueue.accesslog.visible import visible
from django_locqueue.accesslog.visit import REQUEST_ID
from django_locqueue.admin import facts


def request_of(request: Any, admin_site: Any, task: Any) -> Iterator[facts.Fact]:
    """Yield a link to the row of the request, if there is one and this person may see it."""
    found = facts.metadata_of(task).get(REQUEST_ID)
    if not isinstance(found, str) or not request.user.has_perm(VIEW):
        return
    row = AccessLog.objects.filter(hit_id=visible(found)[:64]).only("method", "path").first()
    if row is not None:
        url = reverse("admin:locqueue_accesslog_accesslog_change", args=[row.pk], current_app=admin_site.name)
        yield _("Request"), format_html('<a href="{}">{} {}</a>', url, visible(row.method), visible(row.path))


facts.others.append(request_of)
