"""Workers and producers at work, and what is known of them."""

import os
import random
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from django.db import Error, connections

from django_locqueue.models import Queue, Task, TaskAttempt, Worker
from tests.faults import load
from tests.faults.databases import Database
from tests.processes import Process

PER_SECOND = 120  # tasks of one producer


class Stage:
    """``workers``: those that are meant to live. ``faults``: how often one was injected."""

    def __init__(self, database: Database) -> None:
        self.database: Any = database
        self.folder = tempfile.TemporaryDirectory(prefix="locqueue-stage-")
        self.committed = Path(self.folder.name, "committed")
        self.ledger = Path(self.folder.name, "runs")
        self.workers: list[Process] = []
        self.everybody: list[Process] = []  # also the dead
        self.producers: list[Process] = []
        self.faults = 0
        self.bites = 0  # counted by faults that know at once
        for model in (TaskAttempt, Task, Worker, Queue):
            model.objects.all().delete()

    # -- who works

    def start_worker(self, options: Sequence[str] = ("--threads", "4")) -> Process:
        name = f"w{len(self.everybody)}"
        env = {"DJANGO_SETTINGS_MODULE": "tests.settings_fast", **self.database.environment}
        worker = Process("runqueue", "--no-reload", "--worker-id", name, *options, env=env)
        self.workers.append(worker)
        self.everybody.append(worker)
        return worker

    def start_producer(self) -> None:
        arguments = (str(self.committed), str(self.ledger), str(PER_SECOND))
        env = {"DJANGO_SETTINGS_MODULE": "tests.settings_fast", **self.database.environment}
        self.producers.append(Process(*arguments, env=env, module="tests.faults.producer"))

    def kill(self, worker: Process) -> None:
        self.workers.remove(worker)
        worker.kill()

    def any_worker(self) -> Process:
        return random.choice(self.workers)

    def stop_producers(self) -> None:
        for producer in self.producers:
            producer.signal(signal.SIGTERM)
        for producer in self.producers:
            producer.wait(30)

    def end(self) -> None:
        for process in [*self.everybody, *self.producers]:
            if process.is_running:
                process.signal(signal.SIGCONT)
                process.end()
        self.folder.cleanup()

    # -- what is known

    @property
    def committed_ids(self) -> list[int]:
        return [int(line) for line in self.committed.read_text().split()] if self.committed.exists() else []

    @property
    def runs(self) -> list[load.Run]:
        return load.runs(self.ledger)

    @property
    def cut_short(self) -> int:
        """How many runs began and did not end."""
        runs = self.runs
        ended = {run[1:3] for run in runs if run.word == "ended"}
        return sum(run.word == "began" and run[1:3] not in ended for run in runs)

    def said(self, text: str) -> int:
        """How many lines of the workers hold this text."""
        return sum(text in line for worker in self.everybody for line in worker.lines)

    def ask(self, question: Callable[[], Any]) -> Any:
        """Return what the database says; None if it is away."""
        try:
            return question()
        except Error:
            return None
        finally:
            connections.close_all()

    def wait_for(self, condition: Callable[[], Any], seconds: float) -> bool:
        until = time.monotonic() + seconds
        while not self.ask(condition):
            if time.monotonic() > until:
                return False
            threading.Event().wait(0.05)
        return True

    def pause(self, seconds: float) -> None:
        threading.Event().wait(seconds)


def signal_all(pids: Sequence[int], number: int) -> None:
    for pid in pids:
        os.kill(pid, number)
