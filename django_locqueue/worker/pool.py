"""The slots: threads, each of which runs one task at a time, and the places on the event loop."""

import logging
import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue

from django.db import connections

from django_locqueue.connections import close_old_connections
from django_locqueue.store import Claimed, Key
from django_locqueue.worker.async_executor import AsyncExecutor
from django_locqueue.worker.event_loop import EventLoop
from django_locqueue.worker.execution import Execution, StopReason
from django_locqueue.worker.executor import Executor
from django_locqueue.worker.slots import MOST_THREADS, SlotTable
from django_locqueue.worker.threads import ThreadRange

KEEP_SECONDS = 10.0  # after all threads were last busy at once, those beyond the least number leave

logger = logging.getLogger("django_locqueue.worker")


class Pool:
    """Slots for running tasks.

    Called on the slot's thread: ``on_end(execution)`` when a run has ended and still counts as busy, so that whoever
    waits for an idle pool finds its outcome; ``on_free()`` when the slot is free; ``between_tasks()`` before the next.
    """

    def __init__(
        self,
        threads: ThreadRange,
        executor: Executor,
        on_end: Callable[[Execution], None],
        on_free: Callable[[], None],
        between_tasks: Callable[[], None] = lambda: None,
        table: SlotTable | None = None,
        async_concurrency: int = 0,
    ) -> None:
        self.least, self.most = threads
        self.size = self.least  # threads at present
        self.executor = executor
        self.on_end = on_end
        self.on_free = on_free
        self.between_tasks = between_tasks
        self.table = table
        self._inbox: SimpleQueue[Execution | None] = SimpleQueue()
        # All that was claimed and has not ended. By id and claim number: a task that was taken from this worker may
        # come back to it while its first run has not ended.
        self._executions: dict[tuple[int, int], Execution] = {}
        self._changed = threading.Condition()
        self._threads: dict[int, threading.Thread] = {}  # by slot
        self._all_busy_at = 0.0
        self.async_concurrency = async_concurrency
        self._loop = EventLoop(
            AsyncExecutor(executor, between_tasks),
            range(MOST_THREADS, MOST_THREADS + async_concurrency),
            lanes=self.most,
            begin=self._begin,
            end=self._end,
        )
        # By definition path: whether it runs on the event loop. Known from its first run on, since only a thread may
        # import a project's modules.
        self._is_async: dict[str, bool] = {}
        self._on_loop: set[Key] = set()
        self.ended = self.ended_on_threads = 0  # runs that have ended, ever

    def start(self) -> None:
        for slot in range(self.size):
            self._start_thread(slot)

    def _start_thread(self, slot: int) -> None:
        thread = threading.Thread(target=self._work, args=(slot,), name=f"locqueue-slot-{slot + 1}", daemon=True)
        self._threads[slot] = thread
        thread.start()

    @property
    def may_grow(self) -> bool:
        return self.size < self.most

    def grow(self) -> None:
        """Add a thread."""
        with self._changed:
            self.size += 1
            self._all_busy_at = time.monotonic()
            self._start_thread(next(slot for slot in range(self.most) if slot not in self._threads))

    @property
    def busy(self) -> int:
        """Tasks that were claimed and have not ended."""
        return len(self._executions)

    @property
    def free_threads(self) -> int:
        """Negative while more was claimed for them."""
        return self.size - (len(self._executions) - len(self._on_loop))

    @property
    def free_async(self) -> int:
        return self.async_concurrency - len(self._on_loop)

    def is_async(self, task: Claimed) -> bool:
        """Whether it is known to run on the event loop."""
        return self._is_async.get(task.task_path, False)

    @property
    def executions(self) -> list[Execution]:
        with self._changed:
            return list(self._executions.values())

    def submit(self, claimed: Claimed) -> None:
        execution = Execution(claimed)
        with self._changed:
            self._executions[execution.key] = execution
            if on_loop := self.is_async(claimed):
                self._on_loop.add(execution.key)
        if on_loop:
            self._loop.submit(execution)
        else:
            self._inbox.put(execution)

    def ask_to_stop(self, reason: StopReason, ids: set[int] | None = None) -> None:
        """Let the running tasks know that they should stop; all, or those of the given ids."""
        for execution in self.executions:
            if ids is None or execution.claimed.id in ids:
                execution.ask_to_stop(reason)

    def wait_idle(self, timeout: float) -> bool:
        """Wait until nothing runs. False: the time was over first."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._executions, timeout)

    def stop(self, timeout: float) -> None:
        """End the idle threads. A thread that is stuck in a task ends with the process."""
        threads = list(self._threads.values())
        for _ in threads:
            self._inbox.put(None)
        for thread in threads:
            thread.join(timeout)
        self._loop.stop(timeout)

    def watch(self) -> None:
        self._loop.watch()

    @property
    def dead_threads(self) -> int:
        return sum(not thread.is_alive() for thread in list(self._threads.values())) + self._loop.is_dead

    def withdraw(self, *, waited: float) -> list[Execution]:
        """Take out the tasks that have waited for a thread longer than ``waited`` seconds: they will not be run."""
        before = time.monotonic() - waited
        with self._changed:
            late = [e for e in self._executions.values() if e.began is None and e.claimed_at < before]
            for execution in late:
                self._forget(execution)
            self._changed.notify_all()
        return late

    def _run(self, execution: Execution, slot: int) -> None:
        path = execution.claimed.task_path
        if path not in self._is_async and self.async_concurrency:
            self._is_async[path] = self.executor.is_async(path)
        if self._is_async.get(path):
            self._hand_over(execution)
        elif self._begin(execution, slot):
            self.executor.run(execution)
            self._end(execution, slot)

    def _hand_over(self, execution: Execution) -> None:
        with self._changed:
            if execution.key not in self._executions:
                return
            self._on_loop.add(execution.key)
        self._loop.submit(execution)
        self.on_free()

    def _begin(self, execution: Execution, slot: int) -> bool:
        with self._changed:
            if execution.key not in self._executions:
                return False  # withdrawn
            execution.began = time.monotonic()
        if self.table is not None:
            self.table.mark(slot, execution.claimed.id)
        return True

    def _end(self, execution: Execution, slot: int) -> None:
        if self.table is not None:
            self.table.mark(slot, 0)
        self.on_end(execution)
        with self._changed:
            if self.most > self.least and self.free_threads <= 0:
                self._all_busy_at = time.monotonic()
            self._forget(execution)
            self.ended += 1
            self.ended_on_threads += slot < MOST_THREADS
            if not self._executions:
                self._changed.notify_all()
        self.on_free()

    def _forget(self, execution: Execution) -> None:
        del self._executions[execution.key]
        self._on_loop.discard(execution.key)

    def _next_work(self, slot: int) -> Execution | None:
        """Wait for it. None: this thread is to end."""
        if self._leaves(slot):
            return None
        try:
            return self._inbox.get_nowait()
        except Empty:
            close_old_connections()
        while self.size > self.least:
            try:
                return self._inbox.get(timeout=KEEP_SECONDS)
            except Empty:
                if self._leaves(slot):
                    return None
        return self._inbox.get()

    def _leaves(self, slot: int) -> bool:
        if self.size == self.least or time.monotonic() - self._all_busy_at < KEEP_SECONDS:
            return False
        with self._changed:
            leaves = self.size > self.least
            if leaves:
                self.size -= 1
                del self._threads[slot]
        return leaves

    def _work(self, slot: int) -> None:
        try:
            while True:
                work = self._next_work(slot)
                if work is None:
                    return
                try:
                    self.between_tasks()
                    self._run(work, slot)
                except BaseException:
                    logger.exception("A fault outside any task; the slot goes on.")
        finally:
            connections.close_all()
