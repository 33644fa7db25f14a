"""Works off what a person asked for all tasks that match."""

import logging
import time
from collections.abc import Sequence
from datetime import datetime

from django.core.exceptions import ValidationError

from django_locqueue.connections import close_connections
from django_locqueue.models import BulkOperation
from django_locqueue.service import IDLE_SECONDS, Service
from django_locqueue.store import Store
from django_locqueue.verbs import BULK_PERMISSION, VERBS

logger = logging.getLogger("django_locqueue.worker")

LOOK_SECONDS = 15.0
LEAST_SECONDS = 0.1  # another worker may be about to take what is due


class BulkWork(Service):
    """Sleeps, without a connection, until the next batch of one with a rate, or until it is woken for a new one.

    On a thread of its own: a slow database of users, or receivers of cancelled tasks, are no reason to rescue late.
    """

    name = "bulk work"

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.store = store
        self.operation: BulkOperation | None = None  # which is ours
        self._looked = -LOOK_SECONDS

    def look(self) -> None:
        """Wake the service if anything is due, where no scheduler asks that with its own statement.

        For a thread that has a connection anyway, and comes each second.
        """
        if time.monotonic() - self._looked >= LOOK_SECONDS:
            self._looked = time.monotonic()
            if self.store.bulk_is_due():
                self.wake()

    def run_once(self, now: datetime | None = None) -> float:
        operation = self.operation or self._taken(now)
        if operation is None:
            rest = self.store.next_bulk_in()
            close_connections()
            return IDLE_SECONDS if rest is None else max(LEAST_SECONDS, rest)
        self.operation = None  # should this pass fail, it is to be had again when its lease is over
        operation = change_next(self.store, operation, now=now)
        if operation is not None and not operation.is_finished and not operation.rate:
            self.operation = operation
        elif operation is not None and operation.is_finished:
            logger.info(
                "Bulk operation #%d is done: %s changed %d tasks and skipped %d.",
                operation.pk,
                operation.verb,
                operation.changed,
                operation.skipped,
            )
        return 0

    def _taken(self, now: datetime | None) -> BulkOperation | None:
        """Take an operation that may be done."""
        while (operation := self.store.take_bulk(now=now)) is not None:
            if problem := objection(operation, self.store):
                logger.error("Bulk operation #%d is not done: %s", operation.pk, problem)
                self.store.fail_bulk(operation, problem)
                continue
            if not operation.matched and operation.cursor is None:
                operation.matched = self.store.count_bulk(operation)
            return operation
        return None


def change_next(store: Store, operation: BulkOperation, *, now: datetime | None = None) -> BulkOperation | None:
    """Find and change the next batch; see ``Store.change_bulk``."""
    verb = VERBS[operation.verb]

    def apply(ids: Sequence[int]) -> list[int]:
        applied = verb(store, ids, by=operation.user_name, reason=operation.reason, options=operation.options)
        return [*applied.done, *applied.asked]

    return store.change_bulk(operation, store.find_bulk(operation), apply, now=now)


def objection(operation: BulkOperation, store: Store) -> str:
    """Return why an operation must not be done; empty if it may. A command's user is the machine's."""
    verb = VERBS.get(operation.verb)
    try:
        if verb is None:
            return BulkOperation.NOT_POSSIBLE
        verb.checked(operation.options)
        store.bulk_tasks(operation)
    except (ValueError, TypeError):
        return BulkOperation.NOT_POSSIBLE
    if not operation.user_id:
        return ""
    from django.contrib.auth import get_user_model  # a worker need not have it

    try:
        # Where the project's routers read users: often not where the queue is.
        user = get_user_model()._default_manager.filter(pk=operation.user_id).first()
    except (ValueError, ValidationError):
        user = None
    if user is None or not user.is_active:
        return BulkOperation.NOT_ACTIVE
    may = user.has_perm(verb.permission) and user.has_perm(BULK_PERMISSION)
    return "" if may else BulkOperation.NOT_PERMITTED
