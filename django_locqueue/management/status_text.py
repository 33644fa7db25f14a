"""Snapshots as tables for a terminal, and for what is not one."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from django_locqueue.management import table
from django_locqueue.management.times import shown
from django_locqueue.observability.logs import duration, safe
from django_locqueue.observability.snapshot import QueueNow, QueueState, Snapshot, WorkerNow, WorkerState
from django_locqueue.observability.stats import capped_text

QUEUE_HEADS = (
    *("QUEUE", "STATE", "READY", "OLDEST", "BLOCKED", "SCHEDULED", "RUNNING", "RETRYING", "FAILED 24H"),
    *("PER MIN", "P95 WAIT", "WORKERS", ""),
)
WORKER_HEADS = ("WORKER", "STATE", "BUSY", "QUEUES", "RUNNING", "HEARTBEAT")
NAME_PLACES = 40
RUNNING_PLACES = 40


class StatusText:
    """``is_terminal``: it may show more than ASCII. Names are shown as they are, in both."""

    def __init__(self, *, is_terminal: bool) -> None:
        self.nothing, self.cut = ("–", "…") if is_terminal else ("-", "..")

    def lines(self, found: Sequence[Snapshot], queue: str = "") -> Iterator[str]:
        for snapshot in found:
            if len(found) > 1:
                yield f"DATABASE {snapshot.database}"
            yield from self.queues([each for each in snapshot.queues if not queue or each.name == queue])
            yield from self.workers([each for each in snapshot.workers if not queue or each.serves(queue)])

    def queues(self, queues: Sequence[QueueNow]) -> list[str]:
        if not queues:
            return ["No queues yet: they appear when a task or a worker uses them."]
        return table.lines(QUEUE_HEADS, [self._queue(each) for each in queues], right=QUEUE_HEADS[2:-1])

    def workers(self, workers: Sequence[WorkerNow]) -> list[str]:
        if not workers:
            return ["No worker is running. Start one: python manage.py runqueue"]
        return table.lines(WORKER_HEADS, [self._worker(each) for each in workers])

    def _queue(self, queue: QueueNow) -> list[str]:
        remark = ""
        if queue.state == QueueState.NO_WORKER and queue.ready + queue.limited:
            remark = "<- nobody listens"
        elif queue.state == QueueState.PAUSED:
            by = f" by {safe(queue.paused_by)}" if queue.paused_by else ""
            remark = f"<- paused{by}" + (f" until {shown(queue.paused_until)}" if queue.paused_until else "")
        counts = (queue.limited, queue.scheduled, queue.running, queue.retrying, queue.failed_24h)
        return [
            _cut(safe(queue.name), NAME_PLACES, self.cut),
            queue.state.value,
            capped_text(queue.ready),
            self._duration(queue.oldest_ready_seconds),
            *map(capped_text, counts),
            f"{queue.per_minute:,.0f}" if queue.per_minute >= 10 or not queue.per_minute else f"{queue.per_minute:.1f}",
            self._duration(queue.wait_p95),
            str(queue.workers),
            remark,
        ]

    def _worker(self, worker: WorkerNow) -> list[str]:
        tasks = [f"{safe(task.name)} #{task.id} {_short(task.seconds)}" for task in worker.running]
        more = worker.busy - len(tasks[:1])
        running = _cut(tasks[0], RUNNING_PLACES, self.cut) if tasks else self.nothing
        busy = self.nothing if worker.state == WorkerState.LOST else f"{worker.busy}/{worker.slots}"
        return [
            _cut(safe(worker.name), NAME_PLACES, self.cut),
            worker.state.value,
            busy,
            _cut(safe(",".join(worker.queues)) or "all", NAME_PLACES, self.cut),
            f"{running} +{more}" if more > 0 else running,
            f"{duration(round(worker.heartbeat_seconds))} ago",
        ]

    def _duration(self, seconds: float | None) -> str:
        return self.nothing if seconds is None else duration(seconds)


def with_time(text: str, plain: str, moment: datetime, body: Sequence[str]) -> str:
    """Return a line that ends with the time above the last column. ``plain``: the text without its colours."""
    end = max((table.width(line) for line in body), default=0)
    time = shown(moment)
    return text + " " * max(2, end - table.width(plain) - len(time)) + time


def _cut(text: str, places: int, mark: str) -> str:
    """Return ``text`` in at most so many places; ``mark`` stands for what is left out."""
    if table.width(text) <= places:
        return text
    kept = ""
    for character in text:
        if table.width(kept + character + mark) > places:
            break
        kept += character
    return kept + mark


def _short(seconds: float) -> str:
    return duration(seconds).replace(" ", "") if seconds < 120 else duration(seconds)
