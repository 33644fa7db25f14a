"""The task of one slot, and its row."""

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from django.db import InterfaceError, OperationalError

from django_locqueue.backend import LocQueueBackend
from django_locqueue.clock import instant
from django_locqueue.models import Schedule
from django_locqueue.service import describe
from django_locqueue.store import Store

logger = logging.getLogger("django_locqueue.scheduler")


class Run(NamedTuple):
    """What became of a slot: the task, or why there is none."""

    task_id: int | None
    problem: str


def enqueue_slot(
    store: Store,
    schedule: Schedule,
    definition: Any,
    call: Mapping[str, Any],
    slot: datetime,
    *,
    started_by: str = "",
) -> Run:
    """Enqueue the task of a slot and note it. In the transaction that holds the schedule's lock.

    The task finds the slot in ``context.metadata["schedule"]``. What keeps it from being enqueued (a full queue, a
    receiver that raises) is noted in its place: the slot is over, and the schedule goes on. A database that is away is
    raised.
    """
    backend = definition.get_backend()
    if not isinstance(backend, LocQueueBackend) or backend.database != store.alias:
        run = Run(None, f"The backend {definition.backend!r} of the task does not store tasks in this queue.")
    else:
        about = {"name": schedule.name, "slot": instant(slot).isoformat()}
        noted = definition.using(metadata={**(definition.metadata or {}), "schedule": about})
        try:
            with store.transaction():
                result = backend.enqueue(noted, call["args"], call["kwargs"])
            task_id = int(result.id)  # 0: a hook has dropped the call, and the result says which
            run = Run(task_id, "") if task_id else Run(None, result.errors[0].traceback)
        except (InterfaceError, OperationalError):
            raise
        except Exception as error:
            run = Run(None, describe(error))
    if run.problem:
        logger.warning("The schedule “%s” has no task for %s: %s", schedule.name, slot, run.problem)
    store.add_schedule_run(schedule.pk, slot, task_id=run.task_id, problem=run.problem, started_by=started_by)
    return run


def run_now(store: Store, schedule: Schedule, definition: Any, call: Mapping[str, Any], *, started_by: str) -> Run:
    """Enqueue a schedule's task out of turn; its slots stay as they are."""
    with store.transaction():
        return enqueue_slot(store, schedule, definition, call, store.now(), started_by=started_by)
