"""Writes the access log's rows. Called by its tasks, inside their transaction."""

import datetime
import logging
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db import DataError, IntegrityError, transaction

from django_locqueue.accesslog.bots import is_bot
from django_locqueue.accesslog.conf import access_log
from django_locqueue.accesslog.hit import Hit
from django_locqueue.accesslog.models import AccessLog
from django_locqueue.accesslog.prefix import network_prefix
from django_locqueue.accesslog.primary import primary

logger = logging.getLogger("django_locqueue.accesslog")

# What a bad value raises, in Python or in the database. An outage raises OperationalError, and fails the task.
POISON = (DataError, IntegrityError, ValueError, TypeError, OverflowError)

# What a row has of a hit without a further thought.
AS_THEY_ARE = (
    *("method", "host", "path", "action", "route", "status", "duration_ms", "bytes", "user_agent", "referer"),
    *("streaming", "weight", "query", "visitor", "task_ids"),
)


class NothingStored(Exception):
    """Not one hit of a batch could be stored: less likely all are bad than this worker is older than the table."""


def insert_hits(hits: Sequence[Any]) -> tuple[list[AccessLog], int]:
    """Insert the hits that are not there yet; return the good rows and how many were bad.

    A hit that cannot be stored is left out, with a line in the log; the others of its batch are not lost with it.
    Raises NothingStored if there are no others.
    """
    rows: list[AccessLog] = []
    bad: list[str] = []
    for fields in hits:
        try:
            rows.append(to_row(Hit.from_json(fields)))
        except POISON as error:
            bad.append(_told(fields[0] if isinstance(fields, list) and fields else None, error))
    good = _insert_all(rows, bad)
    if bad:
        message = f"{len(bad)} of {len(hits)} logged requests could not be stored, the first of them {bad[0]}"
        if not good:
            raise NothingStored(message)
        logger.warning("%s; left out.", message)
    return good, len(bad)


def to_row(hit: Hit) -> AccessLog:
    """Return the row of a hit. Raises ValueError or TypeError for a value that is not of its type."""
    return AccessLog(
        hit_id=hit.id,
        time=moment(hit.time),
        ip=hit.ip,
        location_id=hit.ip and network_prefix(hit.ip, access_log.PREFIX_V4, access_log.PREFIX_V6),
        user_id=_user_key(hit.user_id),
        is_bot=access_log.BOTS != "same" and (is_bot(hit.user_agent) if hit.is_bot is None else hit.is_bot),
        **{name: getattr(hit, name) for name in AS_THEY_ARE},
    )


def _insert_all(rows: list[AccessLog], bad: list[str]) -> list[AccessLog]:
    table = primary(AccessLog)
    try:
        with transaction.atomic(using=table.db):
            table.bulk_create(rows, ignore_conflicts=True)
        return rows
    except POISON:
        pass
    good = []
    for row in rows:
        try:
            with transaction.atomic(using=table.db):
                table.bulk_create([row], ignore_conflicts=True)
            good.append(row)
        except POISON as error:
            bad.append(_told(row.hit_id, error))
    return good


def moment(seconds: float) -> datetime.datetime:
    """Return the moment as this project's rows hold it. ``seconds``: since 1970."""
    # Without USE_TZ Django's rows hold the local time.
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC if settings.USE_TZ else None)


def _user_key(value: int | str | None) -> Any:
    try:
        return get_user_model()._meta.pk.to_python(value)
    except ValidationError:  # of another user model than today's
        return None


def _told(hit_id: Any, error: Exception) -> str:
    # No more of either: hits have addresses in them, and what a database says may quote the row.
    return f"{hit_id!r:.40} ({type(error.__cause__ or error).__name__})"
