"""Whether those that serve the queue agree: one version of the code, one clock, and nothing that is left lying."""

import shlex
from collections.abc import Iterator

from django_locqueue.management.doctor.finding import Finding
from django_locqueue.observability.logs import duration, safe
from django_locqueue.observability.snapshot import QueueState, Snapshot, WorkerState
from django_locqueue.observability.verdict import CLOCK_SECONDS, tasks

LATE_SECONDS = 60.0


def look(found: Snapshot) -> Iterator[Finding]:
    yield from _waiting(found)
    yield from _versions(found)
    difference = abs(found.clock_seconds)
    is_off = difference > CLOCK_SECONDS
    text = f"the database's differs from this machine's by {duration(difference)}"
    yield Finding("clock", text, text if is_off else "", "Synchronise both (NTP)" if is_off else "")
    lost = [worker for worker in found.workers if worker.state == WorkerState.LOST and worker.busy]
    left = sum(worker.busy for worker in lost)
    names = ", ".join(safe(worker.name) for worker in lost[:5])
    yield Finding(
        "lost workers",
        "none holds a task",
        f"{tasks(left)} of lost workers to be put back: {names}" if lost else "",
        "" if not lost else "A live worker does it within its lease: python manage.py runqueue",
    )
    late = -(found.next_due_seconds or 0.0)
    is_late = late > LATE_SECONDS
    yield Finding(
        "due tasks",
        "made ready in time",
        f"the first of {tasks(found.scheduled)} is late by {duration(late)}" if is_late else "",
        "Any live worker makes them ready: python manage.py runqueue" if is_late else "",
    )


def _waiting(found: Snapshot) -> Iterator[Finding]:
    stuck = [queue for queue in (*found.unserved, *found.paused) if queue.ready + queue.limited]
    if not stuck:
        yield Finding("queues", "where tasks wait, a worker takes them")
    for queue in stuck:
        name, waiting = safe(queue.name), tasks(queue.ready + queue.limited)
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
        is_mixed = len(values) > 1
        if values - {""}:
            yield Finding(
                f"versions of {what}",
                names,
                f"workers run {len(values)}: {names}" if is_mixed else "",
                "Restart those of the old one" if is_mixed else "",
            )
