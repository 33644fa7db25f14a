"""The slots: threads, each of which runs one task at a time, and the places on the event loop."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from queue import Empty, SimpleQueue
from types import MappingProxyType
from typing import Any

from django.db import connections

from django_locqueue.connections import close_old_connections
from django_locqueue.sessions import watch_this_thread
from django_locqueue.store import Chunk, Claimed, Key
from django_locqueue.worker.async_executor import AsyncExecutor
from django_locqueue.worker.call import Way
from django_locqueue.worker.chunk_execution import ChunkExecution
from django_locqueue.worker.event_loop import EventLoop
from django_locqueue.worker.execution import Execution, StopReason
from django_locqueue.worker.executor import Executor
from django_locqueue.worker.slots import MOST_THREADS, SlotTable
from django_locqueue.worker.threads import ThreadRange

KEEP_SECONDS = 10.0  # after all threads were last busy at once, those beyond the least number leave

LOOK: Any = object()  # in the inbox: what comes first is elsewhere
UNKNOWN = Way()
NO_TIMES: Mapping[Key, float] = MappingProxyType({})

logger = logging.getLogger("django_locqueue.worker")


class Pool:
    """Slots for running tasks.

    Called on the slot's thread: ``on_end(execution)`` when a run has ended and still counts as busy, so that whoever
    waits for an idle pool finds its outcome; ``on_free()``, the dispatcher's, when the slot is free;
    ``between_tasks()`` before the next.
    """

    def __init__(
        self,
        threads: ThreadRange,
        executor: Executor,
        on_end: Callable[[Execution], None],
        between_tasks: Callable[[], None] = lambda: None,
        table: SlotTable | None = None,
        async_concurrency: int = 0,
        chunk_executor: Executor | None = None,
    ) -> None:
        self.least, self.most = threads
        self.size = self.least  # threads at present
        self.executor = executor
        self.chunk_executor = chunk_executor or executor
        self.on_end = on_end
        self.on_free: Callable[[], None] = lambda: None
        self.between_tasks = between_tasks
        self.table = table
        self._inbox: SimpleQueue[Execution | None] = SimpleQueue()  # also of LOOK. None: a thread is to end
        # What goes before all in the inbox, where a LOOK tells of it.
        self._first: deque[Execution] = deque()
        # All that was claimed and has not ended. By id and claim number: a task that was taken from this worker may
        # come back to it while its first run has not ended.
        self._executions: dict[Key, Execution] = {}
        # Of these, what waits for a thread. Whoever takes one out, a slot or `withdraw`, decides on it: one operation
        # of a dict, which needs no lock.
        self._unstarted: dict[Key, Execution] = {}
        # The slots of those that run. Again, whoever takes one out ends it: its thread, or who gives it up.
        self._slots: dict[Key, int] = {}
        self._stuck: list[threading.Thread] = []
        self._stuck_on_loop: set[Key] = set()
        self._idle = threading.Condition()
        self._threads: dict[int, threading.Thread] = {}  # by slot
        self.count_busy = self._executions.__len__  # ``busy`` for who asks after each task: no call of Python
        self._sizing = threading.Lock()
        self._all_busy_at = 0.0
        self.async_concurrency = async_concurrency
        self._loop = EventLoop(
            AsyncExecutor(executor, self.chunk_executor, between_tasks),
            range(MOST_THREADS, MOST_THREADS + async_concurrency),
            lanes=self.most,
            begin=self._begin,
            end=self._end,
        )
        # By definition path. Known from its first run on, since only a thread may import a project's modules.
        self._ways: dict[str, Way] = {}
        self._on_loop: set[Key] = set()
        self.ended = self.ended_on_threads = 0  # runs that have ended, ever; two may count as one now and then

    def start(self) -> None:
        for slot in range(self.size):
            self._start_thread(slot)

    def _start_thread(self, slot: int) -> None:
        thread = threading.Thread(target=self._work, args=(slot,), name=f"locqueue-slot-{slot + 1}", daemon=True)
        thread.start()
        self._threads[slot] = thread  # not earlier: one that is listed and not alive is taken for dead

    @property
    def may_grow(self) -> bool:
        return self.size < self.most

    @property
    def may_shrink(self) -> bool:
        return self.size > self.least

    def grow(self) -> None:
        """Add a thread."""
        with self._sizing:
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
        return self.async_concurrency - len(self._on_loop) - len(self._stuck_on_loop)

    def is_async(self, task: Claimed | Chunk) -> bool:
        """Whether it is known to run on the event loop."""
        return self._ways.get(task.task_path, UNKNOWN).on_loop

    @property
    def executions(self) -> list[Execution]:
        return list(self._executions.values())

    @property
    def members(self) -> list[Execution]:
        """The executions of single tasks: of a chunk, which is one of ``executions``, those of its members."""
        return [member for execution in self.executions for member in execution.members]

    @property
    def first_waiting(self) -> int:
        """How many that go before the others wait for a thread."""
        return len(self._first)

    def submit(
        self, tasks: Iterable[Claimed | Chunk], *, start_by: Mapping[Key, float] = NO_TIMES, first: bool = False
    ) -> None:
        """Run tasks. ``start_by``: until when some of them have to begin. ``first``: before those that wait already."""
        now = time.monotonic()
        for task in tasks:
            way = self._ways.get(task.task_path, UNKNOWN)
            if type(task) is Claimed and not way.in_chunks:
                by = start_by.get(task.key) if start_by else None
                self._submit(Execution(task, claimed_at=now, start_by=by), first, way.on_loop)
            else:
                self._submit_chunk(task if isinstance(task, Chunk) else Chunk((task,)), start_by, first)

    def _submit(self, execution: Execution, first: bool, on_loop: bool) -> None:
        self._executions[execution.key] = self._unstarted[execution.key] = execution
        if on_loop:
            self._submit_to_loop(execution)
        elif first:
            self._first.append(execution)
            self._inbox.put(LOOK)
        else:
            self._inbox.put(execution)

    def _submit_chunk(self, chunk: Chunk, start_by: Mapping[Key, float], first: bool) -> None:
        execution = ChunkExecution.of(chunk, start_by)
        way = self._ways.get(chunk.task_path)
        if way is not None and not way.in_chunks:
            for member in execution.members:  # its definition has changed since they were enqueued
                self._submit(member, first, way.on_loop)
        else:
            self._submit(execution, first, way is not None and way.on_loop)

    def _submit_to_loop(self, execution: Execution) -> None:
        self._on_loop.add(execution.key)
        if execution.key not in self._executions:  # withdrawn just now
            self._on_loop.discard(execution.key)
        self._loop.submit(execution)

    def ask_to_stop(self, reason: StopReason, ids: set[int] | None = None) -> None:
        """Let the running tasks know that they should stop; all, or those of the given ids."""
        for execution in self.executions:
            execution.ask_to_stop(reason, ids)

    def wait_idle(self, timeout: float) -> bool:
        """Wait until nothing runs. False: the time was over first."""
        with self._idle:
            return self._idle.wait_for(lambda: not self._executions, timeout)

    def stop(self, timeout: float) -> None:
        """End the idle threads. A thread that is stuck in a task ends with the process."""
        threads = list(self._threads.values())
        for _ in threads:
            self._inbox.put(None)
        for thread in threads:
            thread.join(timeout)
        self._loop.stop(timeout)

    def watch(self) -> None:
        """To be called from time to time."""
        self._loop.watch()

    @property
    def dead_threads(self) -> int:
        return sum(not thread.is_alive() for thread in list(self._threads.values())) + self._loop.is_dead

    @property
    def stuck(self) -> int:
        """Threads that are still in a task which was given up; the event loop is one if nothing else can run on it."""
        return self.stuck_threads + (self._loop.is_blocked and bool(self._stuck_on_loop))

    @property
    def stuck_threads(self) -> int:
        self._stuck = [thread for thread in self._stuck if thread.is_alive()]
        return len(self._stuck)

    def give_up(self, execution: Execution, end: Execution) -> bool:
        """Let ``end`` be the end of a task that does not end, and give its slot to a new thread. False: it has ended.

        Its own thread is left alone; when it comes back some day, it finds its place taken and ends. One on the event
        loop keeps its place there.
        """
        self._stuck_on_loop.add(execution.key)  # first, since it may end at once
        slot = self._slots.pop(execution.key, None)
        if slot is None or slot < MOST_THREADS:
            self._stuck_on_loop.discard(execution.key)
        if slot is None:
            return False
        if slot >= MOST_THREADS:
            self._finish(end, slot)
            return True
        with self._sizing:
            self._stuck.append(self._threads[slot])
            self._finish(end, slot)
            self._start_thread(slot)
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
        path = execution.claimed.task_path
        way = self._ways.get(path)
        if way is None and (way := self.executor.way_of(path)) is not None:
            self._ways[path] = way = way._replace(on_loop=way.on_loop and bool(self.async_concurrency))
        if way is not None and execution.is_chunk is not way.in_chunks:
            # Its definition has changed since its tasks were enqueued. Who takes it out may put it in as it is now.
            if self._unstarted.pop(execution.key, None) is not None:
                start_by = {member.key: member.start_by for member in execution.members if member.start_by is not None}
                self.submit([member.claimed for member in execution.members], start_by=start_by)
            self.on_free()
        elif way is not None and way.on_loop:
            self._submit_to_loop(execution)
            self.on_free()
        elif self._begin(execution, slot):
            (self.chunk_executor if execution.is_chunk else self.executor).run(execution)
            return self._end(execution, slot)
        return True

    def _begin(self, execution: Execution, slot: int) -> bool:
        if self._unstarted.pop(execution.key, None) is None:
            return False  # withdrawn
        execution.begin()
        self._slots[execution.key] = slot
        if self.table is not None:
            self.table.begin(slot, execution.key)
            if execution.is_chunk:
                self.table.begin_members(slot, [member.key for member in execution.members[1:]])
        return True

    def _end(self, execution: Execution, slot: int) -> bool:
        if self._slots.pop(execution.key, None) is None:  # it was given up
            self._stuck_on_loop.discard(execution.key)
            return False
        self._finish(execution, slot)
        return True

    def _finish(self, execution: Execution, slot: int) -> None:
        if self.table is not None:
            self.table.end(slot, execution.key)
            if execution.is_chunk:
                self.table.end_members(slot)
        self.on_end(execution)
        self.ended += 1
        if slot < MOST_THREADS:
            self.ended_on_threads += 1
            if self.may_shrink and self.free_threads <= 0:
                self._all_busy_at = time.monotonic()
        self._remove(execution)
        self.on_free()

    def _remove(self, execution: Execution) -> None:
        del self._executions[execution.key]
        if self._on_loop:
            self._on_loop.discard(execution.key)
        if not self._executions:
            with self._idle:
                self._idle.notify_all()

    def _next_work(self, slot: int) -> Execution | None:
        """Wait for it. None: this thread is to end."""
        while True:
            if self._first:
                with suppress(IndexError):  # another thread was faster
                    return self._first.popleft()
            try:
                work = self._inbox.get_nowait()
            except Empty:
                work = self._wait_for_work(slot)
            if work is not LOOK:
                return work

    def _wait_for_work(self, slot: int) -> Execution | None:
        close_old_connections()
        while self.may_shrink:
            try:
                return self._inbox.get(timeout=KEEP_SECONDS)
            except Empty:
                if self._leaves(slot):
                    return None
        return self._inbox.get()

    def _leaves(self, slot: int) -> bool:
        with self._sizing:
            leaves = self.may_shrink and time.monotonic() - self._all_busy_at >= KEEP_SECONDS
            if leaves:
                self.size -= 1
                del self._threads[slot]
        return leaves

    def _work(self, slot: int) -> None:
        watch_this_thread()
        try:
            while True:
                work = None if self.may_shrink and self._leaves(slot) else self._next_work(slot)
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
