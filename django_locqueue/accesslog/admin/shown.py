"""What of a logged request may be shown, to whom, and how: visitors send any text, and addresses are personal."""

import datetime
import ipaddress
from typing import Any

from django.utils.formats import number_format
from django.utils.translation import gettext, gettext_lazy

from django_locqueue.accesslog.prefix import shortened
from django_locqueue.admin import moments
from django_locqueue.admin.charts import Words
from django_locqueue.clock import local

VIEW = "locqueue_accesslog.view_accesslog"
FULL_IP = "locqueue_accesslog.view_full_ip"
EXPORT = "locqueue_accesslog.export_data"
MASK_V4, MASK_V6 = 24, 48  # bits that everybody sees
REQUESTS = Words(gettext_lazy("requests"), gettext_lazy("server errors"), gettext_lazy("the time before"))  # of bars
BEYOND_MASK = "^[^:]+/(2[5-9]|3[0-2])$|:.*/(49|[5-9][0-9]|1[0-2][0-9])$"  # networks that tell more


def may_see_full_ip(request: Any) -> bool:
    return bool(request.user.has_perm(FULL_IP))


def may_see_network(request: Any, prefix: str) -> bool:
    """Whether the person may see the network: a small one is as good as an address. Nobody sees what is none."""
    try:
        network = ipaddress.ip_network(prefix, strict=False)
    except ValueError:
        return False
    shows_end = network.prefixlen > (MASK_V4 if network.version == 4 else MASK_V6)
    return not shows_end or may_see_full_ip(request)


def masked(ip: str) -> str:
    """Return ``203.0.113.•`` or ``2001:db8:1::•``: what is personal in an address is its end."""
    first = shortened(ip)
    return f"{first if ':' in first else first.removesuffix('0')}•"


def second(moment: datetime.datetime) -> str:
    """Return ``2026-11-30 14:02:11``: columns of a log stand below each other."""
    return f"{local(moment):%Y-%m-%d %H:%M:%S}"


def milliseconds(length: float) -> str:
    """Return ``0.4 ms``, ``42 ms``, ``1.3 s``: two digits that mean something."""
    if length >= 999.5:
        return moments.span(datetime.timedelta(milliseconds=min(length, 1e12)))
    digits = 1 if length < 9.95 else 0
    return gettext("%(milliseconds)s ms") % {"milliseconds": number_format(round(length, digits), digits)}
