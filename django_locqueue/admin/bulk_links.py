"""Links to the page that asks before all of something are changed."""

from typing import Any

from django.contrib import admin
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from django_locqueue.admin.permissions import may
from django_locqueue.models import Queue
from django_locqueue.verbs import BULK_PERMISSION, VERBS

PERMISSION = BULK_PERMISSION


def bulk_url(request: Any, site: Any, verb: str, listing: str, **conditions: str) -> str | None:
    """Return the address; None if the person may not make the change, or the site has no such page."""
    if not may(request, [PERMISSION, VERBS[verb].permission]):
        return None
    try:
        url = reverse("admin:locqueue_bulkoperation_new", current_app=site.name)
    except NoReverseMatch:
        return None
    return f"{url}?{urlencode({'listing': listing, **conditions, 'verb': verb})}"


def queue_columns(request: Any, site: Any) -> tuple[Any, ...]:
    """Return a column of the list of queues, for whom it is: each queue's ready tasks can be cancelled."""
    if bulk_url(request, site, "cancel", "ready") is None:
        return ()

    @admin.display(description="", empty_value="")
    def cancel_all(queue: Queue) -> Any:
        url = bulk_url(request, site, "cancel", "ready", queue=queue.name)
        return format_html('<a href="{}">{}</a>', url, _("Cancel all ready…"))

    return (cancel_all,)
