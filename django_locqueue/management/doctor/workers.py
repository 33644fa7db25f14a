"""Whether those that serve the queue agree: one version of the code, one clock, and nothing that is left lying."""

import shlex
from collections.abc import Iterator

from django_locqueue.management.doctor import Finding
from django_locqueue.observability.logs import duration, safe
from django_locqueue.observability.snapshot import QueueState, Snapshot, WorkerState
from django_locqueue.observability.stats import tasks_text
from django_locqueue.observability.verdict import CLOCK_SECONDS

LATE_SECONDS = 60.0


def look(found: Snapshot) -> Iterator[Finding]:
    yield from _waiting(found)
    yield from _versions(found)
    difference = abs(found.clock_seconds)
    text = f"the database's differs from this machine's by {duration(difference)}"
    yield Finding.of("clock", text, difference > CLOCK_SECONDS, text, "Synchronise both (NTP)")
    lost = [worker for worker in found.workers if worker.state == WorkerState.LOST and worker.busy]
    left = sum(worker.busy for worker in lost)
    names = ", ".join(safe(worker.name) for worker in lost[:5])
    yield Finding.of(
        "lost workers",
        "none holds a task",
        lost,
        f"{tasks_text(left)} of lost workers to be put back: {names}",
        "A live worker does it within its lease: python manage.py runqueue",
    )
    late = -(found.next_due_seconds or 0.0)
    yield Finding.of(
        "due tasks",
        "made ready in time",
        late > LATE_SECONDS,
        f"the first of {tasks_text(found.scheduled)} is late by {duration(late)}",
        "Any live worker makes them ready: python manage.py runqueue",
    )


def _waiting(found: Snapshot) -> Iterator[Finding]:
    stuck = [queue for queue in (*found.unserved, *found.paused) if queue.ready + queue.limited]
    if not stuck:
        yield Finding("queues", "where tasks wait, a worker takes them")
    for queue in stuck:
        name, waiting = safe(queue.name), tasks_text(queue.ready + queue.limited)
        why, cure = (
            ("it is paused", f"queue_resume {shlex.quote(name)}")
            if queue.state == QueueState.PAUSED
            else ("no worker serves it", f"runqueue --queue {shlex.quote(name)}")
        )
        yield Finding("queues", "", f"{name} has {waiting}, and {why}", f"python manage.py {cure}")


def _versions(found: Snapshot) -> Iterator[Finding]:
    for what, values in (
        ("django-locqueue", {worker.version for worker in found.live_workers}),
        ("your code", {worker.code_version for worker in found.live_workers}),
    ):
        names = ", ".join(sorted(safe(value) or "?" for value in values))
        if values - {""}:
            yield Finding.of(
                f"versions of {what}",
                names,
                len(values) > 1,
                f"workers run {len(values)}: {names}",
                "Restart those of the old one",
            )
