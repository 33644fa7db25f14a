"""``--processes N``: several workers under one parent, which sees a dead one at once and starts another.

Each child is a whole worker with a lease of its own, so that nothing depends on the parent: if it is killed, its
children finish what they run and leave.
"""

import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from django.db import Error
from django.utils.autoreload import get_child_arguments

from django_locqueue import conf, endings
from django_locqueue.connections import close_connections
from django_locqueue.service import describe
from django_locqueue.store import Key, Store
from django_locqueue.worker.heartbeat_file import HeartbeatFile
from django_locqueue.worker.shutdown import within
from django_locqueue.worker.slots import DISMISSED, REPLACED, SlotTable

logger = logging.getLogger("django_locqueue.worker")

TABLE_VARIABLE = "LOCQUEUE_SLOT_TABLE"  # tells a child its table's descriptor and our pid; nobody else sets it
QUIET: int = getattr(signal, "SIGUSR1", 0)  # Windows has none
LOOK_SECONDS = 0.05  # a death is noticed within this time
PAUSE_SECONDS = (0.1, 30.0)  # before a dead child is replaced: at first, and at most while children die young
YOUNG_SECONDS = 10.0
DRAIN_PAUSE_SECONDS = 1.0  # at most while a queue is drained: somebody waits for the end
STARVED_SECONDS = 1.0  # between two looks
RESCUE_SECONDS = 5.0  # what a database gets that hangs, before the other children are looked after again


@dataclass(slots=True)
class Child:
    """The place of one child process. ``start_at``: when it is to be started, by the monotonic clock; None: not."""

    command: Sequence[str]
    table: SlotTable = field(default_factory=SlotTable.create)
    process: subprocess.Popen[bytes] | None = None
    start_at: float | None = 0.0
    began: float = 0.0
    pause: float = PAUSE_SECONDS[0]
    pulse: int = 0  # as it was when it had last changed, at the time `heard`
    heard: float = 0.0
    beats: int = 0  # as they were when the heartbeat file was last touched
    is_quiet: bool = False  # it was told


class Supervisor:
    """Keeps a child for each command until it is told to stop. ``drain``: a child that leaves by itself is done."""

    def __init__(
        self,
        store: Store,
        commands: Sequence[Sequence[str]],
        *,
        max_crashes: int,
        drain: bool,
        heartbeat_file: HeartbeatFile | None = None,
    ) -> None:
        self.store = store
        self.max_crashes = max_crashes
        self.drain = drain
        self.heartbeat_file = heartbeat_file
        self.lease = float(conf.worker.LEASE_SECONDS)
        self.children = [Child(command) for command in commands]
        self._looked = time.monotonic()
        self.received: list[int] = []
        self.is_quiet = False
        self._tick = threading.Event()  # never set: a signal handler must not take its lock

    def pass_on(self, number: int) -> None:
        """Send a signal to every child, and start no more. Called by a signal handler."""
        self.received.append(number)
        for child in self.children:
            child.start_at = None
            if child.process is not None:
                child.process.send_signal(number)

    def tell(self, number: int) -> None:
        """Send another signal to every child that serves, and so can hear it. Called by a signal handler.

        That they are to be quiet holds for those too that start later.
        """
        if number == QUIET:
            self.is_quiet = True
            return
        for child in self.children:
            if child.process is not None and child.table.pulse:
                child.process.send_signal(number)

    def _quiet(self, child: Child) -> None:
        if self.is_quiet and not child.is_quiet and child.process is not None and child.table.pulse:
            child.process.send_signal(QUIET)
            child.is_quiet = True

    def run(self) -> int:
        """Serve until every child has ended for good; return the first exit code that is not 0."""
        try:
            return self._serve()
        finally:
            if self.heartbeat_file is not None:
                self.heartbeat_file.remove()

    def _serve(self) -> int:
        codes: list[int] = []
        while True:
            for child in self.children:
                if child.process is not None and (code := child.process.poll()) is not None:
                    codes.append(self._ended(child, code))
                self._feel_pulse(child)
                self._quiet(child)
                if child.process is None and child.start_at is not None and time.monotonic() >= child.start_at:
                    self._start(child)
            if all(child.process is None and child.start_at is None for child in self.children):
                return next((code for code in codes if code), 0)
            self._looked = time.monotonic()
            self._pass_on_beats()
            self._tick.wait(LOOK_SECONDS)

    def _feel_pulse(self, child: Child) -> None:
        """Kill a child in which nothing can run any more: a task holds Python's lock in C code, or it was stopped.

        Others take its tasks when its lease is over, and it cannot even be asked to leave.
        """
        now, pulse = time.monotonic(), child.table.pulse
        if (unseen := now - self._looked) > STARVED_SECONDS:
            child.heard += unseen  # who was stopped or starved himself cannot tell how long others were silent
        if child.process is None or not pulse or pulse != child.pulse:
            child.pulse, child.heard = pulse, now
        elif now - child.heard > self.lease:
            logger.error("Worker process %d has been silent for %.0f s and is killed.", child.process.pid, self.lease)
            child.process.kill()
            child.heard = now

    def _pass_on_beats(self) -> None:
        """Touch the heartbeat file when every child has beaten since the last time: the living hide no dead one."""
        wanted = [child for child in self.children if child.process is not None or child.start_at is not None]
        if self.heartbeat_file is None or not all(child.table.beats != child.beats for child in wanted):
            return
        for child in wanted:
            child.beats = child.table.beats
        self.heartbeat_file.touch()

    def _start(self, child: Child) -> None:
        child.table.clear()
        child.began, child.start_at, child.beats, child.is_quiet = time.monotonic(), None, 0, False
        child.process = subprocess.Popen(  # noqa: S603 - this very command, with one process
            child.command,
            env={**os.environ, TABLE_VARIABLE: f"{child.table.descriptor} {os.getpid()}"},
            pass_fds=[child.table.descriptor],
            start_new_session=True,  # a terminal's Ctrl+C reaches the children once, from us
        )
        for number in self.received:  # that came while it was being started
            child.process.send_signal(number)

    def _ended(self, child: Child, code: int) -> int:
        """Take back what a dead child had, and plan its successor. Return the exit code to be reported."""
        child.process = None
        running = child.table.running()
        # Not one that ended with a code in the midst of its service: a task may have called os._exit.
        left_by_itself = code >= 0 and not child.table.pulse and not running
        retired = code == 0 and child.table.retiring == REPLACED
        dismissed = child.table.retiring == DISMISSED
        within(RESCUE_SECONDS, partial(self._rescue, child.table.worker_id, child.table.begun(), code))
        if self.received or (self.drain and left_by_itself and not retired):
            # One that died of the signal we passed on, before it could handle it, has done as it was told.
            told = len(self.received) == 1 and -code in self.received
            return 0 if told else code if code >= 0 else 128 - code
        if dismissed:
            logger.info("A worker process has left as a person has asked it to; none takes its place.")
            return 0
        if retired:
            child.start_at = time.monotonic()
            logger.info("A worker process has left; another takes its place.")
            return 0
        # What a task may have done is charged to it, and so has an end: the others need not wait for a child in vain.
        # Where none ran, the fault is the child's own, and has none.
        young = not running and time.monotonic() - child.began < YOUNG_SECONDS
        child.pause = min(child.pause * 2, PAUSE_SECONDS[1]) if young else PAUSE_SECONDS[0]
        pause = min(child.pause, DRAIN_PAUSE_SECONDS) if self.drain else child.pause
        child.start_at = time.monotonic() + pause
        logger.warning("A worker process ended with %d; another starts in %.1f s.", code, pause)
        return 0

    def _rescue(self, worker_id: int, begun: set[Key], code: int) -> None:
        try:
            endings.give_up_worker(self.store, worker_id, begun=begun, max_crashes=self.max_crashes)
        except Error as error:
            logger.error(
                "A worker process died (%d); its tasks are taken back when its lease is over: %s", code, describe(error)
            )
        finally:
            close_connections()


def child_commands(processes: int, name: str) -> list[list[str]]:
    """Return a command line for each child: this process's own, with one process and a name of its own."""
    own = [*get_child_arguments(), "--processes", "1", "--no-reload", "--heartbeat-file", ""]
    return [[*own, "--worker-id", f"{name}/{number}"] for number in range(1, processes + 1)]


def inherited_table() -> SlotTable | None:
    """Return the table that the supervisor of this process reads, if it has one."""
    if TABLE_VARIABLE not in os.environ:
        return None
    descriptor, parent = map(int, os.environ.pop(TABLE_VARIABLE).split())
    return SlotTable(descriptor, parent)
