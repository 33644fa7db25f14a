"""Writes the access log's rows. Called by its tasks, inside their transaction."""

import datetime
import logging
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db import DataError, IntegrityError, router, transaction

from django_locqueue.accesslog.bots import is_bot
from django_locqueue.accesslog.conf import access_log
from django_locqueue.accesslog.hit import Hit
from django_locqueue.accesslog.models import AccessLog
from django_locqueue.accesslog.prefix import network_prefix

logger = logging.getLogger("django_locqueue.accesslog")

# What a bad value raises, in Python or in the database. An outage raises OperationalError, and fails the task.
POISON = (DataError, IntegrityError, ValueError, TypeError, OverflowError)


def insert_hits(hits: Sequence[Any]) -> tuple[list[AccessLog], int]:
    """Insert the hits that are not there yet; return the good rows and how many were bad.

    A row that cannot be stored is logged and left out; the others of its batch are not lost with it.
    """
    rows = []
    for fields in hits:
        try:
            rows.append(to_row(Hit.from_json(fields)))
        except POISON as error:
            _report(fields, error)
    good = _insert_all(rows)
    return good, len(hits) - len(good)


def to_row(hit: Hit) -> AccessLog:
    """Return the row of a hit. Raises ValueError or TypeError for a value that is not of its type."""
    return AccessLog(
        hit_id=hit.id,
        time=moment(hit.time),
        ip=hit.ip,
        location_id=hit.ip and network_prefix(hit.ip, access_log.PREFIX_V4, access_log.PREFIX_V6),
        user_id=_user_key(hit.user_id),
        method=hit.method,
        host=hit.host,
        path=hit.path,
        action=hit.action,
        route=hit.route,
        status=hit.status,
        duration_ms=hit.duration_ms,
        bytes=hit.bytes,
        is_bot=access_log.BOTS != "same" and (is_bot(hit.user_agent) if hit.is_bot is None else hit.is_bot),
        user_agent=hit.user_agent,
        referer=hit.referer,
        streaming=hit.streaming,
        weight=hit.weight,
        query=hit.query,
        visitor=hit.visitor,
        task_ids=hit.task_ids,
    )


def _insert_all(rows: list[AccessLog]) -> list[AccessLog]:
    alias = router.db_for_write(AccessLog)
    table = AccessLog.objects.using(alias)
    try:
        with transaction.atomic(using=alias):
            table.bulk_create(rows, ignore_conflicts=True)
        return rows
    except POISON:
        pass
    good = []
    for row in rows:
        try:
            with transaction.atomic(using=alias):
                table.bulk_create([row], ignore_conflicts=True)
            good.append(row)
        except POISON as error:
            _report(row.hit_id, error)
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


def _report(what: Any, error: Exception) -> None:
    logger.warning("A logged request could not be stored and was left out: %.200r (%s)", what, error)
