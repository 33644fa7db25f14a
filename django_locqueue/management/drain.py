"""How far ``runqueue --drain`` is: a bar on a terminal, a line now and then in a log, and what it came to."""

import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from django.db import Error

from django_locqueue.models import orderings
from django_locqueue.models.task import TaskQuerySet
from django_locqueue.observability.logs import span
from django_locqueue.observability.stats import CAP, capped_counts, capped_text
from django_locqueue.service import Service
from django_locqueue.store import Store
from django_locqueue.worker.options import WorkerOptions

BAR_SECONDS = 0.5
LINE_SECONDS = 10.0
WIDTH = 20
CLEAR = "\r\x1b[K"
ENDED = ("done", "failed", "cancelled")  # a try after which the task is not waited for


class DrainProgress(Service):
    """Looks at ``counts`` (of :class:`WorkerLog`) and at what is left."""

    name = "progress"

    def __init__(self, store: Store, options: WorkerOptions, counts: Mapping[str, int], out: Any) -> None:
        super().__init__()
        self.store = store
        self.options = options
        self.counts = counts
        self.out = out
        self.is_terminal = out.isatty() and options.table is None  # the children of a supervisor share one
        self.began = time.monotonic()
        self.is_drawn = False

    @property
    def ended(self) -> int:
        return sum(self.counts[word] for word in ENDED)

    def run_once(self, now: datetime | None = None) -> float:
        seconds = time.monotonic() - self.began
        if seconds >= (BAR_SECONDS if self.is_terminal else LINE_SECONDS):  # a short drain needs neither
            self._say(bar if self.is_terminal else line, seconds)
        return BAR_SECONDS if self.is_terminal else LINE_SECONDS

    def clear(self) -> None:
        """Make room for another line."""
        if self.is_drawn:
            self.is_drawn = False
            self.out.write(CLEAR)

    def conclusion(self) -> str:
        """Return in words what became of the queue."""
        done, failed = self.counts["done"], self.counts["failed"]
        text = f"Finished: {done:,} done, {failed:,} failed."
        if cancelled := self.counts["cancelled"]:
            text = f"{text[:-1]}, {cancelled:,} cancelled."
        try:
            later = self._served(self.store.tasks.scheduled()).order_by(*orderings.SCHEDULED)
            number = capped_counts({"later": later})["later"]
            due = self.store.next_due()
        except Error:
            return text  # the services have said that it is away
        if number:
            tasks = "1 scheduled task was" if number == 1 else f"{capped_text(number)} scheduled tasks were"
            still = "is" if number == 1 else "are"
            next_one = "" if due is None else f" (the next in {span(max(0.0, due))})"
            text += f" {tasks} not due and {still} still there{next_one}."
        return text

    def left(self) -> int:
        """Return how many tasks are ready or running, at most ``CAP + 1``. Raises Error while the database is away."""
        found = capped_counts(
            {
                "ready": self._served(self.store.tasks.ready()).order_by(*orderings.READY),
                "limited": self._served(self.store.tasks.limited()).order_by(*orderings.LIMITED),
                "running": self._served(self.store.tasks.running()).order_by(*orderings.RUNNING),
            }
        )
        return sum(found.values())

    def _say(self, words: Callable[[Mapping[str, int], int, int, float], str], seconds: float) -> None:
        text = words(self.counts, self.ended, self.left(), seconds)
        self.out.write(f"{CLEAR}{text}" if self.is_terminal else f"{text}\n")
        self.out.flush()
        self.is_drawn = self.is_terminal

    def _served(self, rows: TaskQuerySet) -> TaskQuerySet:
        if self.options.queues:
            rows = rows.filter(queue_name__in=self.options.queues)
        return rows.exclude(queue_name__in=self.options.exclude_queues) if self.options.exclude_queues else rows


def bar(counts: Mapping[str, int], ended: int, left: int, seconds: float) -> str:
    """Return ``Draining  [####------]  812 of about 1,290   61/s   3 failed   left 0:08``; of very many no bar."""
    rate = ended / seconds
    parts = [f"{rate:,.0f}/s", f"{counts['failed']:,} failed"]
    if left > CAP:
        return "   ".join((f"Draining  {ended:,} of many", *parts))
    total = ended + left
    filled = WIDTH * ended // max(1, total)
    if rate:
        minutes, rest = divmod(round(left / rate), 60)
        parts.append(f"left {minutes}:{rest:02}")
    return "   ".join((f"Draining  [{'#' * filled:-<{WIDTH}}]  {ended:,} of about {total:,}", *parts))


def line(counts: Mapping[str, int], ended: int, left: int, seconds: float) -> str:
    """Return ``drain done=812 failed=3 retried=5 left=478 rate=61/s elapsed=13s``."""
    numbers = " ".join(f"{word}={counts[word]}" for word in ("done", "failed", "retried"))
    some = f"{CAP}+" if left > CAP else str(left)
    return f"drain {numbers} left={some} rate={ended / seconds:.0f}/s elapsed={seconds:.0f}s"
