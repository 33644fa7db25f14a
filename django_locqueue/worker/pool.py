"""The threads: each runs one task at a time."""

import logging
import threading
import time
from collections.abc import Callable, Iterable
from queue import Empty, SimpleQueue

from django.db import connections

from django_locqueue.connections import close_old_connections
from django_locqueue.sessions import watch_this_thread
from django_locqueue.store import Claimed, Key
from django_locqueue.worker.execution import Execution, StopReason
from django_locqueue.worker.executor import Executor
from django_locqueue.worker.slots import SlotTable

logger = logging.getLogger("django_locqueue.worker")


class Pool:
    """Slots for running tasks.

    Called on the slot's thread: ``on_end(execution)`` when a run has ended and still counts as busy, so that whoever
    waits for an idle pool finds its outcome; ``on_free()`` when the slot is free; ``between_tasks()`` before the next.
    """

    def __init__(
        self,
        size: int,
        executor: Executor,
        on_end: Callable[[Execution], None],
        on_free: Callable[[], None],
        between_tasks: Callable[[], None] = lambda: None,
        table: SlotTable | None = None,
    ) -> None:
        self.size = size
        self.executor = executor
        self.on_end = on_end
        self.on_free = on_free
        self.between_tasks = between_tasks
        self.table = table
        self._inbox: SimpleQueue[Execution | None] = SimpleQueue()
        # All that was claimed and has not ended. By id and claim number: a task that was taken from this worker may
        # come back to it while its first run has not ended.
        self._executions: dict[Key, Execution] = {}
        # Of these, what waits for a thread. Whoever takes one out, a slot or `withdraw`, decides on it: one operation
        # of a dict, which needs no lock.
        self._unstarted: dict[Key, Execution] = {}
        # The slots of those that run. Again, whoever takes one out ends it: its thread, or who gives it up.
        self._slots: dict[Key, int] = {}
        self._idle = threading.Condition()
        self._threads: list[threading.Thread] = []  # by slot
        self._stuck: list[threading.Thread] = []
        self.ended = 0  # runs that have ended, ever; two slots may count as one now and then

    def start(self) -> None:
        self._threads = [self._started(slot) for slot in range(self.size)]

    def _started(self, slot: int) -> threading.Thread:
        thread = threading.Thread(target=self._work, args=(slot,), name=f"locqueue-slot-{slot + 1}", daemon=True)
        thread.start()
        return thread

    @property
    def busy(self) -> int:
        """Tasks that were claimed and have not ended."""
        return len(self._executions)

    @property
    def executions(self) -> list[Execution]:
        return list(self._executions.values())

    def submit(self, tasks: Iterable[Claimed]) -> None:
        for claimed in tasks:
            execution = Execution(claimed)
            self._executions[execution.key] = self._unstarted[execution.key] = execution
            self._inbox.put(execution)

    def ask_to_stop(self, reason: StopReason, ids: set[int] | None = None) -> None:
        """Let the running tasks know that they should stop; all, or those of the given ids."""
        for execution in self.executions:
            if (ids is None or execution.claimed.id in ids) and execution.stop_reason is None:
                execution.stop_reason = reason

    def wait_idle(self, timeout: float) -> bool:
        """Wait until nothing runs. False: the time was over first."""
        with self._idle:
            return self._idle.wait_for(lambda: not self._executions, timeout)

    def stop(self, timeout: float) -> None:
        """End the idle threads. A thread that is stuck in a task ends with the process."""
        for _ in self._threads:
            self._inbox.put(None)
        for thread in self._threads:
            thread.join(timeout)

    @property
    def dead_threads(self) -> int:
        return sum(not thread.is_alive() for thread in self._threads)

    @property
    def stuck(self) -> int:
        """Threads that are still in a task which was given up."""
        self._stuck = [thread for thread in self._stuck if thread.is_alive()]
        return len(self._stuck)

    def give_up(self, execution: Execution, end: Execution) -> bool:
        """Let ``end`` be the end of a task that does not end, and give its slot to a new thread. False: it has ended.

        Its own thread is left alone; when it comes back some day, it finds its place taken and ends.
        """
        slot = self._slots.pop(execution.key, None)
        if slot is None:
            return False
        self._stuck.append(self._threads[slot])
        self._finish(end, slot)
        self._threads[slot] = self._started(slot)
        return True

    def withdraw(self, *, waited: float) -> list[Execution]:
        """Take out the tasks that have waited for a thread longer than ``waited`` seconds: they will not be run."""
        before = time.monotonic() - waited
        late = [
            execution
            for execution in list(self._unstarted.values())
            if execution.claimed_at < before and self._unstarted.pop(execution.key, None) is not None
        ]
        for execution in late:
            self._remove(execution)
        return late

    def _run(self, execution: Execution, slot: int) -> bool:
        """Return False if the task was given up meanwhile."""
        if self._unstarted.pop(execution.key, None) is None:
            return True  # withdrawn
        execution.began = time.monotonic()
        execution.ident = threading.get_ident()
        self._slots[execution.key] = slot
        if self.table is not None:
            self.table.mark(slot, execution.key)
        self.executor.run(execution)
        if self._slots.pop(execution.key, None) is None:
            return False
        self._finish(execution, slot)
        return True

    def _finish(self, execution: Execution, slot: int) -> None:
        if self.table is not None:
            self.table.mark(slot)
        self.on_end(execution)
        self.ended += 1
        self._remove(execution)
        self.on_free()

    def _remove(self, execution: Execution) -> None:
        del self._executions[execution.key]
        if not self._executions:
            with self._idle:
                self._idle.notify_all()

    def _work(self, slot: int) -> None:
        watch_this_thread()
        try:
            while True:
                try:
                    work = self._inbox.get_nowait()
                except Empty:
                    close_old_connections()
                    work = self._inbox.get()
                if work is None:
                    return
                try:
                    self.between_tasks()
                    if not self._run(work, slot):
                        return  # another thread has the slot
                except BaseException:
                    logger.exception("A fault outside any task; the slot goes on.")
        finally:
            connections.close_all()
