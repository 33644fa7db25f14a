"""Where a worker's time goes: py-spy looks at one process that serves no-ops, and counts what holds the interpreter.

Threads share the interpreter, so its time is what bounds a process. What is not in the sum is spent waiting, mostly for
the database.
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from django.db import connection

from benchmarks.product import LOCQUEUE, Configuration
from benchmarks.run import Reading, Run
from benchmarks.tasks import noop
from benchmarks.worker import Workers

PY_SPY = str(Path(sys.executable).with_name("py-spy"))
LOOKS_A_SECOND = 200
# What a frame's text holds, and the step that it means. The innermost frame that says something decides.
STEPS = {
    "(benchmarks/tasks.py": "the task itself",
    "(django_locqueue/policies/payload.py": "arguments and results, as JSON",
    "(django_locqueue/worker/announcer.py": "announce",
    "(django_locqueue/worker/acker.py": "ack",
    "(django_locqueue/worker/claimer.py": "claim",
    "(django_locqueue/worker/dispatcher.py": "hand out, and wait for room",
    "(django_locqueue/worker/executor.py": "execute",
    "(django_locqueue/worker/call.py": "execute",
    "(django_locqueue/connections.py": "execute",
    "(django_locqueue/worker/pool.py": "take",
}
REST = "everything else"
ONE_PROCESS = Configuration(("--threads", "2"), conn_max_age=None)


def readings(run: Run) -> Iterator[Reading]:
    """Nothing on SQLite, nor where py-spy is not installed; it comes with the extra ``bench``."""
    if run.product is not LOCQUEUE or connection.vendor == "sqlite" or not Path(PY_SPY).exists():
        return
    count = run.drain_tasks
    run.table.empty()
    run.table.fill(noop, count)
    run.table.settle()
    with tempfile.TemporaryDirectory() as folder:
        stacks = Path(folder, "stacks")
        spy = [PY_SPY, "record", "--gil", f"--rate={LOOKS_A_SECOND}", "--format=raw", f"--output={stacks}", "--"]
        with Workers(run.product, ONE_PROCESS, leave_when_empty=True, under=spy) as workers:
            workers.wait()
        looks = steps(stacks.read_text())
    yield Reading("profile", "from one task to the next", "µs/task", 1e6 / run.table.rate())
    yield Reading("profile", "of it the interpreter is busy", "µs/task", microseconds(looks.total(), count))
    for step in (*STEPS.values(), REST):
        yield Reading("profile", f"… {step}", "µs/task", microseconds(looks[step], count))


def microseconds(looks: int, tasks: int) -> float:
    return 1e6 * looks / LOOKS_A_SECOND / tasks


def steps(stacks: str) -> Counter[str]:
    """Return how many looks saw each step. A line has a stack, outermost frame first, and how often it was seen."""
    looks: Counter[str] = Counter()
    for line in stacks.splitlines():
        stack, _, count = line.rpartition(" ")
        if stack.startswith("Thread."):  # the main thread starts and waits: nothing that each task pays
            looks[step(stack)] += int(count)
    return looks


def step(stack: str) -> str:
    for frame in reversed(stack.split(";")):
        for text, name in STEPS.items():
            if text in frame:
                return name
    return REST
