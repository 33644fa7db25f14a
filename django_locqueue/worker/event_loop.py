"""The event loop: async tasks, many at once on one thread."""

import asyncio
import contextvars
import logging
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from asgiref.sync import ThreadSensitiveContext

from django_locqueue.worker.async_executor import AsyncExecutor
from django_locqueue.worker.execution import Execution
from django_locqueue.worker.lane import Lane, OtherThreads

logger = logging.getLogger("django_locqueue.worker")

BLOCKED_SECONDS = 3.0  # without an answer of the loop: then the log says who holds it up
ASK_SECONDS = 0.5  # how often it is asked, while tasks run

_started: contextvars.ContextVar[set["asyncio.Task[Any]"]] = contextvars.ContextVar("locqueue_started_by_task")


class EventLoop:
    """Its thread starts with the first async task. ``places``: the numbers of its slots, one for each task at once.

    Called on its thread: ``begin(execution, place)``, False if the execution was withdrawn meanwhile; and
    ``end(execution, place)`` when it has its outcome.
    """

    def __init__(
        self,
        executor: AsyncExecutor,
        places: range,
        lanes: int,
        begin: Callable[[Execution, int], bool],
        end: Callable[[Execution, int], object],
    ) -> None:
        self.executor = executor
        self.concurrency = len(places)
        self.begin = begin
        self.end = end
        self._places = list(reversed(places))
        self._lanes = [Lane(number + 1) for number in range(lanes)]
        self._waiting: deque[Execution] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._stopping = False
        self._asked_at: float | None = None
        self._answered_at = 0.0
        self.is_blocked = False  # by a task, for longer than BLOCKED_SECONDS; as `watch` has found it

    def submit(self, execution: Execution) -> None:
        """Run it as soon as there is a place."""
        with self._starting:
            loop = self._loop or self._start()
        loop.call_soon_threadsafe(self._accept, execution)

    def _start(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        loop.set_default_executor(OtherThreads())
        loop.set_task_factory(_noting_the_starter)
        thread = threading.Thread(target=self._serve, args=(loop,), name="locqueue-loop", daemon=True)
        thread.start()
        self._thread = thread  # not before: one that has not begun looks as dead as one that has ended
        self._loop = loop
        return loop

    @property
    def is_dead(self) -> bool:
        return self._thread is not None and not self._thread.is_alive()

    def stop(self, timeout: float) -> None:
        """Cancel what still runs, and end the thread. One that is stuck in a task ends with the process."""
        self._stopping = True
        if self._loop is not None and self._thread is not None:
            if self._thread.is_alive():
                self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(timeout)
        for lane in self._lanes:
            lane.close()

    def watch(self) -> None:
        """Say it once when a task holds up the loop. Called by another thread, from time to time."""
        loop, now = self._loop, time.monotonic()
        if loop is None or self._stopping:
            return
        if self._asked_at is None:
            if now - self._answered_at >= ASK_SECONDS and len(self._places) < self.concurrency:
                self._asked_at = now
                loop.call_soon_threadsafe(self._answer)
        elif now - self._asked_at >= BLOCKED_SECONDS and not self.is_blocked and (task := asyncio.current_task(loop)):
            self.is_blocked = True
            logger.warning(
                "The event loop has been held up for %.0f s by %s, and with it all async tasks. Blocking work belongs "
                "in a task that is not async, or in asyncio.to_thread().",
                now - self._asked_at,
                self._place_of(task),
            )

    def _answer(self) -> None:
        self._asked_at, self._answered_at, self.is_blocked = None, time.monotonic(), False

    def _place_of(self, task: "asyncio.Task[Any]") -> str:
        frame = sys._current_frames().get(self._thread.ident or 0) if self._thread is not None else None
        place = f" ({frame.f_code.co_filename}:{frame.f_lineno})" if frame is not None else ""
        return f"{task.get_name()}{place}"

    # -- on the loop's thread

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        while not self._stopping:
            try:
                loop.run_forever()
            except BaseException:  # SystemExit, of what a task has started beside itself
                logger.exception("A fault outside any task; the event loop goes on.")
        loop.run_until_complete(_cancel_all(loop))
        loop.close()

    def _accept(self, execution: Execution) -> None:
        while self._waiting and self._waiting[0].ended:  # withdrawn; a loop that is full for hours must not gather them
            self._waiting.popleft()
        self._waiting.append(execution)
        self._fill()

    def _fill(self) -> None:
        while self._waiting and self._places and not self._stopping:
            execution, place = self._waiting.popleft(), self._places.pop()
            if self.begin(execution, place):
                # An empty context: what a task sets of language, time zone or context variables ends with it.
                name = f"{execution.claimed.name} #{execution.claimed.id}"
                task = asyncio.get_running_loop().create_task(
                    self._run(execution, place), name=name, context=contextvars.Context()
                )
                task.add_done_callback(partial(self._done, execution, place), context=contextvars.Context())
            else:
                self._places.append(place)

    async def _run(self, execution: Execution, place: int) -> None:
        started: set[asyncio.Task[Any]] = set()
        _started.set(started)
        lane = min(self._lanes, key=lambda each: each.executions)
        lane.executions += 1
        try:
            async with ThreadSensitiveContext(executor=lane):
                await self.executor.run(execution)
        finally:
            lane.leave()
            for task in started:  # what it started and did not await ends with it
                task.cancel()

    def _done(self, execution: Execution, place: int, task: "asyncio.Task[None]") -> None:
        # A callback, since a task that is cancelled before its first step never enters its function.
        if not execution.ended:
            self.executor.not_begun(execution)
        self._places.append(place)
        self._fill()
        self.end(execution, place)


async def _cancel_all(loop: asyncio.AbstractEventLoop) -> None:
    left = asyncio.all_tasks(loop) - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    await loop.shutdown_asyncgens()


def _noting_the_starter(loop: asyncio.AbstractEventLoop, coro: Any, **options: Any) -> "asyncio.Task[Any]":
    task: asyncio.Task[Any] = asyncio.Task(coro, loop=loop, **options)
    started = _started.get(None)
    if started is not None:
        started.add(task)
        task.add_done_callback(started.discard)
    return task
