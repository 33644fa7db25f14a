"""What stands around a request: the tasks that it enqueued, and what else its address asked for that day.

And on the page of a task, the request that enqueued it.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from django.db.models.functions import Left
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from django_locqueue.accesslog.admin.changelist import NEWEST
from django_locqueue.accesslog.admin.log_links import stamp
from django_locqueue.accesslog.admin.shown import VIEW, may_see_full_ip, may_see_network
from django_locqueue.accesslog.models import AccessLog
from django_locqueue.accesslog.visible import visible
from django_locqueue.accesslog.visit import REQUEST_ID
from django_locqueue.admin import facts
from django_locqueue.admin.badges import state_badge
from django_locqueue.admin.paginator import CappedPaginator
from django_locqueue.admin.payloads import WHOLE
from django_locqueue.admin.task_base import WIDE_COLUMNS
from django_locqueue.clock import local
from django_locqueue.models import Task

_HIT_ID = re.compile("[0-9a-f]{32}")


class TaskLine(NamedTuple):
    """A task of the request; without address and badge if it was deleted since."""

    label: str
    url: str = ""
    badge: Any = ""


def around_request(admin_site: Any, request: HttpRequest, row: AccessLog) -> dict[str, Any]:
    """Return the context of ``request_page.html``."""
    return {**_same_day(admin_site, request, row), "tasks": _tasks(admin_site, request, row)}


def _same_day(admin_site: Any, request: HttpRequest, row: AccessLog) -> dict[str, Any]:
    if row.ip is None or row.prefix is None or not may_see_network(request, row.prefix):
        return {}
    full = may_see_full_ip(request)
    midnight = local(timezone.now()).replace(hour=0, minute=0, second=0, microsecond=0)
    rows = AccessLog.objects.filter(location_id=row.prefix, time__gte=midnight)
    rows = rows.filter(ip=row.ip) if full else rows
    query = urlencode({"q": row.ip if full else row.prefix, "since": stamp(midnight)})
    list_url = reverse("admin:locqueue_accesslog_accesslog_changelist", current_app=admin_site.name)
    return {
        "same_day_is_of_address": full,
        "same_day": CappedPaginator(rows.order_by(*NEWEST), 1).count_text,
        "same_day_url": f"{list_url}?{query}",
    }


def _tasks(admin_site: Any, request: HttpRequest, row: AccessLog) -> list[TaskLine]:
    ids = [int(text) for text in row.task_ids.split(",") if text.isascii() and text.isdecimal()]
    if not ids or not request.user.has_perm("locqueue.view_task"):
        return []
    # Where the request's transaction rolled back, SQLite has given its ids to other tasks since.
    said = Task.objects.alias(said=Left("metadata", WHOLE)).filter(said__contains=row.hit_id)
    found = said.defer(*WIDE_COLUMNS).in_bulk(ids)
    return [_line(admin_site, number, found.get(number)) for number in ids]


def _line(admin_site: Any, number: int, task: Task | None) -> TaskLine:
    if task is None:
        return TaskLine(f"#{number}")
    url = reverse("admin:locqueue_task_change", args=[number], current_app=admin_site.name)
    return TaskLine(f"{visible(task.name)} #{number}", url, state_badge(task))


def request_of(request: HttpRequest, admin_site: Any, task: Any) -> Iterator[facts.Fact]:
    """Give the request that enqueued a task, for its page. One query, if there is one and the person may know of it."""
    hit_id = facts.metadata_of(task).get(REQUEST_ID)
    # Anything else is somebody's own metadata; PostgreSQL would refuse a NUL in it.
    if not isinstance(hit_id, str) or not _HIT_ID.fullmatch(hit_id) or not request.user.has_perm(VIEW):
        return
    row = AccessLog.objects.filter(hit_id=hit_id).only("pk", "method", "path", "status").first()
    if row is None:
        yield _("Request"), _("%(id)s (not on record)") % {"id": hit_id}
    else:
        url = reverse("admin:locqueue_accesslog_accesslog_change", args=[row.pk], current_app=admin_site.name)
        yield _("Request"), format_html('<a href="{}">{}</a>', url, visible(str(row)))


facts.others.append(request_of)
