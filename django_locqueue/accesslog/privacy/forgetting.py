"""Taking somebody out of the log, when they ask for it or their account is gone."""

import ipaddress
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from django_locqueue.accesslog.analytics.stale import mark_stale
from django_locqueue.accesslog.client_ip import Trust, client_ip
from django_locqueue.accesslog.models import AccessLog, VisitorKey
from django_locqueue.accesslog.prefix import network_prefix
from django_locqueue.accesslog.primary import primary
from django_locqueue.accesslog.privacy.pseudonym import SHARED_V4, SHARED_V6, pseudonym

BATCH = 1000
NOBODY: dict[str, Any] = {"user": None, "ip": None, "user_agent": "", "visitor": "", "task_ids": ""}
# Of the networks that an address may be stored under: PREFIX_V4 and PREFIX_V6 may have been anything the checks allow.
LENGTHS = {4: range(8, 33), 6: range(16, 129)}


def forget(*, user: Any = None, ip: str | None = None) -> int:
    """Take user, address, agent and visitor out of the requests of a user or an address; return of how many.

    The requests stay, and count. ``user``: a user or its primary key; ``ip``: one address. Of addresses that were
    stored as hashes, those of the last two days can be found; of older ones nobody knows any more whose they were.
    Raises TypeError unless one of the two is given, ValueError for what is no address.
    """
    if (user is None) == (ip is None):
        raise TypeError("forget() takes either user or ip.")
    return forget_rows(rows_of_users([getattr(user, "pk", user)]) if ip is None else rows_of_address(ip))


def rows_of_users(keys: list[Any]) -> "QuerySet[AccessLog]":
    return primary(AccessLog).filter(user_id__in=keys)


def rows_of_address(ip: str) -> "QuerySet[AccessLog]":
    """Return the rows of an address. Its networks are asked for too, since they have an index and it has none."""
    address = client_ip({"REMOTE_ADDR": ip}, Trust())
    if address is None:
        raise ValueError(f"{ip!r:.80} is no IP address. Write one such as 203.0.113.9 or 2001:db8::1.")
    lengths = LENGTHS[ipaddress.ip_address(address).version]
    keys = primary(VisitorKey).values_list("key", flat=True)
    names = [address, *(pseudonym(address, bytes(key)) for key in keys)]
    return primary(AccessLog).filter(
        location_id__in=[network_prefix(address, bits, bits) for bits in lengths], ip__in=names
    )


def forget_rows(rows: "QuerySet[AccessLog]") -> int:
    """Forget whose the rows are, batch by batch; return how many."""
    total = 0
    while forgotten := forget_batch(rows):
        total += forgotten
    return total


def forget_batch(rows: "QuerySet[AccessLog]") -> int:
    """Forget whose the first of the rows are; return how many. A few statements, or one if there are none."""
    # Forgotten rows are no rows of the user or the address any more: the next batch is what is left of them.
    found = list(rows.values_list("pk", "location_id", "time")[:BATCH])
    if not found:
        return 0
    lonely = [pk for pk, prefix, _ in found if prefix is not None and not is_shared(prefix)]
    with transaction.atomic(using=rows.db):
        primary(AccessLog).filter(pk__in=[pk for pk, *_ in found]).update(**NOBODY)
        if lonely:
            primary(AccessLog).filter(pk__in=lonely).update(location=None)
        mark_stale(moment for *_, moment in found)  # the counts hold addresses, too
    return len(found)


def is_shared(prefix: str) -> bool:
    """Whether a network is so wide that it tells of nobody."""
    network = ipaddress.ip_network(prefix)
    return network.prefixlen <= (SHARED_V4 if network.version == 4 else SHARED_V6)
