"""The store: every write to a task row, and every transaction. The list of its verbs is the glossary."""

from collections.abc import Collection

from django_locqueue.store.control import Controlling
from django_locqueue.store.enqueue import Enqueuing
from django_locqueue.store.recover import Rescued
from django_locqueue.store.serve import Serving


class Store(Enqueuing, Serving, Controlling):
    """Verbs of all databases. A vendor's file overrides the smallest step that the database forces."""

    def give_up_worker(self, worker_id: int, *, running: Collection[int], max_crashes: int) -> list[Rescued]:
        """Take back at once what a worker had whose death was seen.

        The tasks in ``running`` are charged a crash; what it had claimed and not begun goes back free.
        """
        self.release([task for task in self.held(worker_id) if task.id not in running])
        self.stop_worker(worker_id)
        return self.rescue(max_crashes=max_crashes)
