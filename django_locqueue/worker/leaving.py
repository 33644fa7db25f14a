"""How a worker leaves: its tasks finish or go back, and what they came to is written."""

import logging
import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from django.db import Error

from django_locqueue import endings, signals
from django_locqueue.connections import close_connections
from django_locqueue.service import Service
from django_locqueue.worker.execution import Execution, StopReason
from django_locqueue.worker.shutdown import within

if TYPE_CHECKING:
    from django_locqueue.worker.worker import Worker

logger = logging.getLogger("django_locqueue.worker")

FORCED_LOOK_SECONDS = 0.1  # how soon a second stop signal is seen, while tasks finish
FORCED_SECONDS = 0.5  # for each step of the end after a second signal
LAST_CLAIM_SECONDS = 1.0  # what the claim that is under way gets
LAST_WORDS_SECONDS = 5.0  # what the database gets to take the last writes
NOTHING_TO_SAY_SECONDS = 1.0  # the same if no outcome is at stake
COOPERATION_SECONDS = 1.0  # what asked tasks get to stop by themselves after the grace time


def wind_down(worker: "Worker") -> None:
    """Stop claiming, let tasks finish, ask the rest to stop, give back what still runs, write it all, leave."""
    grace = worker.options.grace_seconds
    grace_end = time.monotonic() + grace
    pool, until = worker.pool, partial(_until, worker)
    worker.heartbeat.stopping = True
    worker.heartbeat.wake()
    for helper in (worker.listener, worker.scheduler, worker.dispatcher.scout, worker.bulk):
        if helper is not None:
            helper.stop(0)
    worker.dispatcher.stop(until(time.monotonic() + LAST_CLAIM_SECONDS))
    worker.dispatcher.give_back_unstarted()
    signals.worker_stopping.send_robust(
        type(worker), worker=worker.heartbeat.row, running=len(pool.members), grace=grace
    )
    _wait_idle(worker, grace_end)
    if pool.busy:
        pool.ask_to_stop(StopReason.SHUTDOWN)
        _wait_idle(worker, time.monotonic() + COOPERATION_SECONDS)
    # A database that hangs holds up each service; they are waited for side by side, and no longer than it is worth.
    patience = LAST_WORDS_SECONDS if pool.busy or worker.acker.pending else NOTHING_TO_SAY_SECONDS
    end = time.monotonic() + patience
    ending: list[Service] = [worker.dispatcher, worker.maintenance, worker.bulk, worker.heartbeat, worker.acker]
    ending += [worker.bookkeeper, *([] if worker.scheduler is None else [worker.scheduler])]
    for service in ending:
        service.stop(0)
    for service in ending:
        service.stop(until(end))
    left = pool.members
    worker.is_stuck = bool(left or pool.stuck)
    within(until(time.monotonic() + patience), partial(_last_words, worker, left))
    worker.announcer.drain(until(end))
    worker.announcer.stop(until(end))
    within(until(end), worker.bookkeeper.finish)  # with what was told last
    pool.stop(0.1 if left else until(end))
    worker.watchdog.stop(until(end))
    signals.worker_stopped.send_robust(type(worker), worker=worker.heartbeat.row, released=len(left))


def _until(worker: "Worker", end: float) -> float:
    """Return the seconds that a step of the end may take."""
    return min(FORCED_SECONDS if worker.is_forced else LAST_WORDS_SECONDS, max(0.1, end - time.monotonic()))


def _wait_idle(worker: "Worker", end: float) -> None:
    while time.monotonic() < end and not worker.is_forced:
        worker.heartbeat.watch()
        if worker.pool.wait_idle(min(FORCED_LOOK_SECONDS, max(0.0, end - time.monotonic()))):
            return


def _last_words(worker: "Worker", left: Sequence[Execution]) -> None:
    try:
        while worker.acker.pending and not worker.acker.is_alive:
            worker.acker.flush()
        if left:
            endings.release(worker.store, [execution.claimed for execution in left])
        worker.store.stop_worker(worker.heartbeat.row.pk, shown=worker.bookkeeper.shown())
    except Error:
        logger.exception("Could not write the last outcomes; others take these tasks back after the lease.")
    finally:
        close_connections()
