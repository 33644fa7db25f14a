"""Brings the rows in line with the schedules that stand in code."""

import logging
from datetime import datetime

from django_locqueue import registry
from django_locqueue.backend import LocQueueBackend
from django_locqueue.clock import instant, storable
from django_locqueue.scheduler.defined import DefinedSchedule, defined_schedules
from django_locqueue.scheduler.rule import rule_of
from django_locqueue.store import Store
from django_locqueue.store.schedules import Synced

logger = logging.getLogger("django_locqueue.scheduler")


def sync(store: Store, now: datetime | None = None) -> Synced:
    """Make, change and retire rows; any process may, at any time. Only for tasks that are stored in this database."""
    registry.autodiscover()
    defined = {each.name: each for each in defined_schedules() if _is_stored_in(store, each)}
    at = instant(store.now() if now is None else now)
    next_at = {}
    for name, each in defined.items():
        first = rule_of(each.cron, each.every, each.timezone).after(at)
        if first is not None:
            next_at[name] = storable(first)
    synced = store.sync_schedules({name: defined[name].columns() for name in next_at}, next_at)
    for verb, names in zip(("added", "changed", "removed from code"), synced, strict=True):
        if names:
            logger.info("Schedules %s: %s.", verb, ", ".join(sorted(names)))
    return synced


def _is_stored_in(store: Store, schedule: DefinedSchedule) -> bool:
    backend = schedule.definition.get_backend()
    return isinstance(backend, LocQueueBackend) and backend.database == store.alias
