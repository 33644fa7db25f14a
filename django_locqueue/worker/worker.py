"""A worker: one process that runs tasks, put together from its services."""

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial

from django.db import Error

from django_locqueue import __version__, conf, endings, registry, signals
from django_locqueue.backend import LocQueueBackend
from django_locqueue.connections import close_connections
from django_locqueue.models import State
from django_locqueue.models import Worker as WorkerRow
from django_locqueue.policies.outcome import Kind
from django_locqueue.scheduler.scheduler import Scheduler
from django_locqueue.service import Service
from django_locqueue.store.notify import LIMITED, Notifying
from django_locqueue.store.recover import SOON_SECONDS
from django_locqueue.worker.acker import Acker
from django_locqueue.worker.announcer import Announcer
from django_locqueue.worker.bell import Bell
from django_locqueue.worker.bookkeeper import Bookkeeper
from django_locqueue.worker.bulk import BulkWork
from django_locqueue.worker.chunk_executor import ChunkExecutor
from django_locqueue.worker.dispatcher import SUSPECT_SECONDS, Dispatcher
from django_locqueue.worker.execution import Execution, StopReason
from django_locqueue.worker.executor import Executor
from django_locqueue.worker.heartbeat import Heartbeat
from django_locqueue.worker.leaving import wind_down
from django_locqueue.worker.listener import Listener
from django_locqueue.worker.log_keeper import kept
from django_locqueue.worker.maintenance import Maintenance
from django_locqueue.worker.options import WorkerOptions
from django_locqueue.worker.pool import Pool
from django_locqueue.worker.reporter import Reporter
from django_locqueue.worker.slots import DISMISSED, REPLACED
from django_locqueue.worker.telling import tell
from django_locqueue.worker.threads import ThreadRange
from django_locqueue.worker.watchdog import Watchdog

logger = logging.getLogger("django_locqueue.worker")

LONGEST_TURN_SECONDS = 60.0  # what --drain waits for a limited task to have its turn; a longer wait is a time to come
IDLE_SECONDS = 300.0  # a quiet worker says this often that it lives
LOOK_SECONDS = 1.0  # how soon a dead service is seen, or a lease that is over; a stop signal rings


class Worker:
    """``run`` serves until it is asked to stop, and returns the process's exit code.

    ``received``: the stop signals so far, which a signal handler notes before it rings the ``bell``.
    """

    def __init__(
        self,
        backend: LocQueueBackend,
        options: WorkerOptions,
        received: Sequence[int] = (),
        bell: Bell | None = None,
    ) -> None:
        registry.autodiscover()  # before the lease begins: imports may take their time
        self.backend = backend
        self.store = backend.store
        self.options = options
        self.reporter = Reporter(self.store)
        self.executor = Executor(
            backend, watch=lambda execution: self.watchdog.watch(execution), reported=self.reporter.put
        )
        self.chunk_executor = ChunkExecutor(self.executor)
        self.announcer, self.bookkeeper = Announcer(), Bookkeeper(self.store)
        self.threads = ThreadRange.of(options.threads)
        self.pool = Pool(
            self.threads,
            self.executor,
            on_end=self._on_end,
            between_tasks=self.announcer.help,
            table=options.table,
            async_concurrency=conf.worker.ASYNC_CONCURRENCY,
            chunk_executor=self.chunk_executor,
        )
        self.watchdog = Watchdog(self.pool, self._give_up, options.table)
        self.acker = Acker(self.store, self.pool.count_busy, self._on_stored)
        self.heartbeat = Heartbeat(
            self.store, self.pool, self._register, self._on_beat, self._on_dismissal, self.bookkeeper.shown
        )
        self.dispatcher = Dispatcher(
            self.store,
            self.pool,
            owner=lambda: None if self.is_quiet else self.heartbeat.owner,
            give_back=self.acker.put,
            ending=self.acker.ending,
            is_suspect=self.executor.is_suspect,
            queues=options.queues,
            exclude_queues=options.exclude_queues,
            most_tasks=options.quota.tasks,
        )
        self.bulk = BulkWork(self.store)
        # One that only works off what is there adds nothing to it.
        self.scheduler: Scheduler | None = None
        if options.schedules and not options.drain:
            self.scheduler = Scheduler(self.store, on_enqueued=self.dispatcher.wake, on_bulk_due=self.bulk.wake)
        self.maintenance = Maintenance(
            self.store,
            max_crashes=backend.max_crashes,
            retention=backend.retention,
            on_ready=self.dispatcher.wake,
            may_rescue=lambda: self.heartbeat.is_steady,
            each_pass=self._each_second,
            next_due=None if self.scheduler is None else self.scheduler.look,
        )
        self.listener: Listener | None = None
        if conf.worker.LISTEN and isinstance(self.store, Notifying):
            self.listener = Listener(self.store, self._on_notified)
        self._received = received
        self._stop_requests: list[float] = []
        self.finished = threading.Event()
        self._bell = bell or Bell()
        self.is_quiet = False  # it lives, and takes no more tasks
        self.each_look: Callable[[], None] = lambda: None  # called by the main thread, once a second and when it rings
        self.is_stuck = False  # tasks still ran when it left; their threads end only with the process

    @property
    def services(self) -> tuple[Service, ...]:
        before_tasks = (self.watchdog, self.acker, self.announcer, self.bookkeeper, self.heartbeat)
        always = (*before_tasks, self.dispatcher, self.dispatcher.scout, self.maintenance, self.bulk)
        return (*always, *(each for each in (self.scheduler, self.listener) if each is not None))

    def request_stop(self) -> None:
        """Stop gracefully; a second call stops at once."""
        self._stop_requests.append(time.monotonic())
        self._bell.ring()

    def quiet(self) -> None:
        """Take no more tasks, and live on: whoever deploys will stop it when it is idle."""
        self.is_quiet = self.heartbeat.stopping = True
        self.heartbeat.wake()

    @property
    def is_stopping(self) -> bool:
        return bool(self._received or self._stop_requests)

    @property
    def is_forced(self) -> bool:
        return len(self._received) + len(self._stop_requests) > 1

    @kept()
    def run(self) -> int:
        endings.announcing, endings.counting = self.announcer.put_one, self.bookkeeper.put
        try:
            self.pool.start()
            for service in self.services:
                service.start()
            signals.worker_started.send_robust(type(self), worker=self.heartbeat.row)
            with self._bell:
                healthy = self._serve()
            wind_down(self)
            return 0 if healthy else 1
        finally:
            endings.announcing, endings.counting = endings.at_once, endings.count_at_once
            if self.options.heartbeat_file is not None:
                self.options.heartbeat_file.remove()
            self.finished.set()

    def _serve(self) -> bool:
        """Wait for the end. False: a service is dead, and a process that only looks alive helps nobody."""
        began = quiet_since = time.monotonic()
        ended = 0
        while not self.is_stopping:
            self._bell.wait(0.05 if self.options.drain else min(LOOK_SECONDS, self.heartbeat.lease / 10))
            self.pool.watch()
            self.each_look()
            dead = [service.name for service in self.services if not service.is_alive]
            if self.options.table is not None and os.getppid() != self.options.table.parent:
                logger.warning("Leaving, because the supervisor is gone.")
                return True
            if dead or self.pool.dead_threads:
                logger.critical("Leaving, because this stopped: %s.", ", ".join(dead) or "a thread of the pool")
                return False
            if self.pool.stuck and (self.options.table is not None or self.pool.stuck_threads >= self.pool.size):
                return self._leave_stuck()
            if why := self.options.quota.reached(tasks=self.dispatcher.ended, seconds=time.monotonic() - began):
                logger.info("Leaving, because %s.", why)
                return self._retire()
            self.heartbeat.watch()
            for service in self.services:
                service.break_off_after(self.heartbeat.lease)
            if self.options.drain and self._is_drained():
                return True
            if self.pool.busy or self.pool.ended != ended:
                quiet_since, ended = time.monotonic(), self.pool.ended
            elif time.monotonic() - quiet_since >= IDLE_SECONDS:
                quiet_since = time.monotonic()
                self._say_idle()
        return True

    def _retire(self) -> bool:
        """Let a supervisor start another in our place at once."""
        if self.options.table is not None:
            self.options.table.retiring = REPLACED
        return True

    def _leave_stuck(self) -> bool:
        """Where a supervisor starts another, one lost thread is enough; else the process goes on until it has none."""
        logger.critical("Leaving, because %d tasks do not end, and keep their threads.", self.pool.stuck)
        return self._retire() and self.options.table is not None

    def _say_idle(self) -> None:
        try:
            due = self.store.next_due()
        except Error:
            close_connections()  # the services say that the database is away
        else:
            signals.worker_idle.send_robust(type(self), worker=self.heartbeat.row, due=due)

    def _is_drained(self) -> bool:
        if self.pool.busy or self.acker.pending or not self.dispatcher.found_nothing:
            return False
        try:
            if not self.maintenance.has_swept and self.store.has_orphans():
                return False  # as good as ready; no other worker may ever live long enough to take them back
            look = self.store.look()
            ready = [head for head in look.heads if self._serves(head.queue_name)]
            turn = self._next_turn() if look.is_limited else None
            due = self.store.next_due()
        except Error:
            close_connections()  # the services say it in the log, and wait for it
            return False
        if ready or turn == 0:
            self.dispatcher.wake()
        if due is not None and due <= SUSPECT_SECONDS:
            self.maintenance.wake()  # overdue and not promoted yet, or put off by the dispatcher for a moment
            return False
        if due is not None and self.options.until_empty:
            return False
        # Asked again: what it has claimed meanwhile we have not seen waiting.
        is_idle = self.dispatcher.found_nothing and not self.pool.busy
        return not ready and is_idle and (turn is None or turn > LONGEST_TURN_SECONDS)

    def _next_turn(self) -> float | None:
        wait = self.store.next_turn(queues=self.options.queues, exclude_queues=self.options.exclude_queues)
        return None if wait is None else max(0.0, wait)

    def _serves(self, queue_name: str) -> bool:
        options = self.options
        return (not options.queues or queue_name in options.queues) and queue_name not in options.exclude_queues

    # -- what the parts tell each other

    def _register(self) -> WorkerRow:
        row = self.store.register_worker(
            self.options.name,
            lease=conf.worker.LEASE_SECONDS,
            queues=",".join(_served(self.options)),
            threads=self.threads.most,
            version=__version__,
            code_version=conf.worker.CODE_VERSION,
        )
        if self.options.table is not None:
            self.options.table.worker_id = row.pk
        return row

    def _on_beat(self) -> None:
        if self.options.table is not None:
            self.options.table.beats += 1
        if self.options.heartbeat_file is not None:
            self.options.heartbeat_file.touch()

    def _on_dismissal(self) -> None:
        if self.is_stopping:  # a second request would be to stop at once
            return
        logger.info("Leaving, because a person has asked this worker to stop.")
        if self.options.table is not None:
            self.options.table.retiring = DISMISSED
        self.request_stop()

    def _each_second(self) -> None:
        self.heartbeat.look_for_cancelled()
        self.reporter.save()
        if self.scheduler is None:
            self.bulk.look()

    def _give_up(self, execution: Execution) -> None:
        """A task that its timeout could not stop."""
        executor = self.chunk_executor if execution.is_chunk else self.executor
        if self.pool.give_up(execution, executor.give_up(execution)):
            execution.ask_to_stop(StopReason.GIVEN_UP)
            what = f"{execution.claimed.name} #{execution.claimed.id}"
            logger.error("%s does not end after its timeout; its thread is left alone, another takes its slot.", what)

    def _on_end(self, execution: Execution) -> None:
        if execution.is_chunk:
            self.acker.put_all(execution.members)
        else:
            self.acker.put(execution)

    def _on_notified(self, queue_name: str) -> None:
        if not queue_name:
            self.maintenance.wake(again=True)
            self.dispatcher.wake(again=True)
        elif queue_name.startswith(LIMITED):
            if self._serves(queue_name.removeprefix(LIMITED)):
                self.dispatcher.hear_limited()
        elif self._serves(queue_name):
            self.dispatcher.hear(queue_name)

    def _on_stored(self, executions: list[Execution]) -> None:
        self.bookkeeper.note(executions)
        for execution in executions:
            outcome = execution.outcome
            if execution.claimed.workflow_id is not None:
                self.dispatcher.wake()  # it may have been the last of its step
            if outcome is not None and outcome.kind in _AGAIN:
                if execution.written == State.READY and outcome.kind is not Kind.RELEASED:
                    self.dispatcher.wake()
                elif execution.written == State.SCHEDULED and outcome.delay < SOON_SECONDS:
                    self.maintenance.wake()
            if execution.claimed.limit_key is not None:
                self.dispatcher.end_turn(execution.claimed)
        self.announcer.put([partial(tell, self.executor, execution) for execution in executions])


_AGAIN = (Kind.RETRIED, Kind.SNOOZED, Kind.RELEASED)


def _served(options: WorkerOptions) -> list[str]:
    """Return the queues as a person reads them: ``all``, ``-mail``."""
    all_but = ["all"] if options.exclude_queues and not options.queues else []
    return [*options.queues, *all_but, *(f"-{name}" for name in options.exclude_queues)]
