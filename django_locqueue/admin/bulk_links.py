"""Links to the page that asks before all of something are changed."""

from typing import Any

from django.urls import NoReverseMatch, reverse
from django.utils.http import urlencode

from django_locqueue.admin.permissions import may
from django_locqueue.verbs import BULK_PERMISSION, VERBS

# Who asks for one is shown which tasks are meant.
PERMISSIONS = (BULK_PERMISSION, "locqueue.view_task")


def bulk_page(request: Any, site: Any) -> str | None:
    """Return the address of that page; None if the person may not use it, or the site has none."""
    try:
        return reverse("admin:locqueue_bulkoperation_new", current_app=site.name) if may(request, PERMISSIONS) else None
    except NoReverseMatch:
        return None


def bulk_url(request: Any, site: Any, verb: str, listing: str, **conditions: str) -> str | None:
    """Return the address that asks for a change; None if the person may not make it."""
    url = bulk_page(request, site) if may(request, VERBS[verb].permission) else None
    return url and f"{url}?{urlencode({'listing': listing, **conditions, 'verb': verb})}"
