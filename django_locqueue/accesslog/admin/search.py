"""What a person types into the search box, by what it looks like."""

import ipaddress
import re
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import QuerySet

from django_locqueue.accesslog.admin.shown import may_see_full_ip, may_see_network
from django_locqueue.accesslog.conf import access_log
from django_locqueue.accesslog.models import AccessLog
from django_locqueue.accesslog.prefix import network_prefix

LONGEST = 200

_request_id = re.compile("[0-9a-f]{32}")


def term_of(text: str) -> str:
    """Return the term without what PostgreSQL refuses; cut, since nothing that long is stored."""
    return text.replace("\x00", "").strip()[:LONGEST]


def is_path(term: str) -> bool:
    """Whether no index serves the term: only the newest rows are looked at."""
    return term.startswith("/")


def search(rows: QuerySet[AccessLog], term: str, request: Any) -> QuerySet[AccessLog]:
    """Narrow by a path's beginning, a request's id, an address, a network or a user's name."""
    if not term:
        return rows
    if _request_id.fullmatch(term):
        return rows.filter(hit_id=term)
    if is_path(term):
        return rows.filter(path__startswith=term)
    try:
        address = ipaddress.ip_address(term)
    except ValueError:
        if "/" not in term:
            return _of_user(rows, term)
        return rows.filter(location_id=term) if may_see_network(request, term) else rows.none()
    prefix = network_prefix(term, access_log.PREFIX_V4, access_log.PREFIX_V6)
    if not may_see_network(request, prefix):
        return rows.none()
    # The network is indexed; the address, which would be one more index to write for every hit, is not.
    rows = rows.filter(location_id=prefix)
    return rows.filter(ip=str(address)) if may_see_full_ip(request) else rows


def _of_user(rows: QuerySet[AccessLog], name: str) -> QuerySet[AccessLog]:
    users = get_user_model()
    key = users._default_manager.filter(**{users.USERNAME_FIELD: name}).values_list("pk", flat=True).first()
    return rows.none() if key is None else rows.filter(user_id=key)
