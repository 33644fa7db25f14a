"""Enqueues the tasks of schedules when their slots come."""

import logging
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.db import Error
from django.utils import translation

from django_locqueue.clock import instant, storable
from django_locqueue.exceptions import InvalidSchedule
from django_locqueue.models import Schedule
from django_locqueue.scheduler.call import checked_missed, task_at
from django_locqueue.scheduler.enqueuing import enqueue_slot
from django_locqueue.scheduler.planned import call_in, still_to_come
from django_locqueue.scheduler.rule import rule_of
from django_locqueue.scheduler.slots import due_slots
from django_locqueue.scheduler.sync import sync
from django_locqueue.service import IDLE_SECONDS, Service
from django_locqueue.store import Store

logger = logging.getLogger("django_locqueue.scheduler")

NEAR_SECONDS = 0.2  # what is as near as this to the time it wakes at is what it wakes for
TAKEN_SECONDS = 0.5  # until the next look where another worker is at what is due
UNKNOWN_SECONDS = 60.0  # until a task that this version of the code does not know is looked for again


class Scheduler(Service):
    """Every worker runs it. A schedule that another serves is passed over, and each slot has one row.

    ``on_enqueued()`` is called when tasks were added, ``on_bulk_due()`` by :meth:`look`. It sleeps until the next slot
    that it knows of. What a person changes meanwhile is seen by :meth:`look`, within a second.
    """

    name = "scheduler"

    def __init__(
        self,
        store: Store,
        *,
        on_enqueued: Callable[[], None] = lambda: None,
        on_bulk_due: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__()
        self.store = store
        self.on_enqueued = on_enqueued
        self.on_bulk_due = on_bulk_due
        self._is_synced = False
        self._unknown: dict[int, float] = {}  # schedules whose task is not known here, and until when
        self._wakes_at = 0.0  # by the monotonic clock

    def run_once(self, now: datetime | None = None) -> float:
        with translation.override(None):  # what it notes and logs is English, whatever the project speaks
            delay = self._pass_at(now)
        self._wakes_at = time.monotonic() + delay
        return delay

    def look(self, now: datetime | None = None) -> float | None:
        """Return the seconds until the next scheduled task is due, as ``Store.next_due`` does.

        In maintenance's stead, which asks that each second: the same statement tells what schedules there are.
        """
        ahead = self.store.look_ahead(but=self._passed_over(), now=now)
        if ahead.slot is not None and time.monotonic() + ahead.slot < self._wakes_at - NEAR_SECONDS:
            self.wake()
        if ahead.is_bulk_due:
            self.on_bulk_due()
        return ahead.task

    def _pass_at(self, now: datetime | None) -> float:
        if not self._is_synced:
            sync(self.store, now)
            self._is_synced = True
        delay = self._next_slot_in(now)
        if delay is not None and delay <= 0:
            self._serve_due(now)
            delay = self._next_slot_in(now)
            if delay is not None and delay <= 0:
                return TAKEN_SECONDS
        return IDLE_SECONDS if delay is None else min(IDLE_SECONDS, delay)

    def _next_slot_in(self, now: datetime | None) -> float | None:
        return self.store.next_slot_in(but=self._passed_over(), now=now)

    def _passed_over(self) -> list[int]:
        return [pk for pk, until in list(self._unknown.items()) if until > time.monotonic()]

    def _serve_due(self, now: datetime | None) -> None:
        failed: Error | None = None
        for pk in self.store.due_schedules(but=self._passed_over(), now=now):
            try:
                enqueued = self._serve(pk, now)
            except Error as error:
                if not self.store.is_transient(error):  # else it is looked at again in a moment
                    failed = error  # and holds up no other
            else:
                if enqueued:
                    self.on_enqueued()
        if failed is not None:
            raise failed

    def _serve(self, pk: int, now: datetime | None) -> int:
        """Enqueue what is due of one schedule; return how many tasks."""
        with self.store.locked_schedule(pk, now=now) as found:
            if found is None:
                return 0
            schedule, at = found
            try:
                return self._enqueue_due(schedule, instant(at))
            except InvalidSchedule as error:
                logger.warning("The schedule “%s” is switched off: %s", schedule.name, error)
                self.store.change_schedule(pk, {"enabled": False, "next_at": None, "problem": str(error)})
                return 0

    def _enqueue_due(self, schedule: Schedule, at: datetime) -> int:
        """Raises :class:`InvalidSchedule` for a row that can never run."""
        rule = rule_of(schedule.cron, schedule.every, schedule.timezone)
        missed = checked_missed(schedule.missed)
        if schedule.next_at is None:  # made or switched on by who did not say
            self.store.change_schedule(schedule.pk, {"next_at": storable(still_to_come(rule.after(at)))})
            return 0
        due = due_slots(rule, instant(schedule.next_at), at, missed)
        try:
            definition = task_at(schedule.task_path)
        except InvalidSchedule as error:
            # Perhaps another version of the code knows it, and a worker that runs that one: the slot stays due.
            logger.warning("The schedule “%s” waits for a worker that knows its task: %s", schedule.name, error)
            self._unknown[schedule.pk] = time.monotonic() + UNKNOWN_SECONDS
            self.store.change_schedule(schedule.pk, {"problem": str(error)})
            return 0
        call = call_in(schedule, definition)
        changes: dict[str, Any] = {"next_at": storable(still_to_come(due.next_at))}
        taken = {instant(slot) for slot in self.store.slots_taken(schedule.pk, [storable(slot) for slot in due.slots])}
        enqueued = 0
        for slot in due.slots:
            if slot not in taken:
                run = enqueue_slot(self.store, schedule, definition, call, storable(slot))
                enqueued += run.task_id is not None
                changes |= {"last_at": storable(slot), "last_task_id": run.task_id, "problem": run.problem}
        self.store.change_schedule(schedule.pk, changes)
        return enqueued
