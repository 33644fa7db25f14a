"""Writes what was found out about networks."""

import datetime
from collections.abc import Iterable, Mapping
from typing import Any

from django.db import connections, transaction
from django.utils import timezone

from django_locqueue.accesslog.analytics.stale import mark_visits_from
from django_locqueue.accesslog.geo.chain import current_chain
from django_locqueue.accesslog.geo.data_version import data_version
from django_locqueue.accesslog.geo.errors import GeoError
from django_locqueue.accesslog.geo.result import GeoResult
from django_locqueue.accesslog.hit import text
from django_locqueue.accesslog.models import Location
from django_locqueue.accesslog.primary import primary

# Of a result and of a row.
TEXTS = ("country_code", "country", "province", "city", "district", "isp", "adcode", "provider", "precision")
LENGTHS = {field.name: field.max_length or 0 for field in Location._meta.concrete_fields if field.name in TEXTS}
PLACE = ("state", *TEXTS, "latitude", "longitude")
NOTES = ("data_version", "resolved_at")

State = Location.State


def write_places(places: Mapping[str, GeoResult | None]) -> int:
    """Write the places of networks; None: nobody knows it, which is an answer too. Return how many have changed.

    The hours of the visits from those are counted again. A network that is not on record yet gets its row: the queue
    may be in another database than the log, and faster than the log's commit.
    """
    if not places:
        return 0
    now, version = timezone.now(), present_version()
    # Sorted: two tasks that write the same networks in different orders would deadlock.
    rows = [_row(prefix, place, version, now) for prefix, place in sorted(places.items())]
    with transaction.atomic(using=primary(Location).db):
        before = {pk: place for pk, *place in primary(Location).filter(pk__in=places).values_list("pk", *PLACE)}
        changed = [row for row in rows if before.get(row.pk) != [getattr(row, name) for name in PLACE]]
        if len(changed) < len(rows):
            same = places.keys() - {row.pk for row in changed}
            primary(Location).filter(pk__in=same).update(data_version=version, resolved_at=now)
        if changed:
            _upsert(changed)
            mark_visits_from([row.pk for row in changed])
    return len(changed)


def write_failures(prefixes: Iterable[str]) -> None:
    """Note of networks whose place is not known that nobody could be asked. A place that is known stays."""
    unknown = primary(Location).filter(pk__in=list(prefixes), state__in=(State.PENDING, State.UNKNOWN))
    unknown.update(state=State.FAILED, resolved_at=timezone.now())


def present_version() -> str:
    """Return the version of the files' data; empty while one cannot be read, so that what it knows is asked later."""
    try:
        return data_version(current_chain().providers)
    except GeoError:
        return ""


def _row(prefix: str, place: GeoResult | None, version: str, now: datetime.datetime) -> Location:
    row = Location(pk=prefix, state=State.UNKNOWN, data_version=version, resolved_at=now)
    if place is None:
        return row
    row.state = State.RESERVED if place.is_reserved else State.LOCATED
    row.latitude, row.longitude = place.latitude, place.longitude
    for name in TEXTS:  # a service may say anything
        setattr(row, name, text(getattr(place, name), LENGTHS[name]))
    return row


def _upsert(rows: list[Location]) -> None:
    table = primary(Location)
    conflict: dict[str, Any] = {"update_conflicts": True, "update_fields": [*PLACE, *NOTES]}
    if connections[table.db].features.supports_update_conflicts_with_target:  # all but MySQL and MariaDB
        conflict["unique_fields"] = ["prefix"]
    table.bulk_create(rows, **conflict)
