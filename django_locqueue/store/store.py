"""The store: every write to a task row, and every transaction. The list of its verbs is the glossary."""

from collections.abc import Collection, Mapping
from types import MappingProxyType

from django_locqueue.models import State
from django_locqueue.store.aside import SettingAside
from django_locqueue.store.control import Controlling
from django_locqueue.store.enqueue import Enqueuing
from django_locqueue.store.recover import Rescued


class Store(Enqueuing, SettingAside, Controlling):
    """Verbs of all databases. A vendor's file overrides the smallest step that the database forces."""

    def give_up_worker(
        self,
        worker_id: int,
        *,
        running: Collection[int],
        max_crashes: int,
        by_backend: Mapping[str, int] = MappingProxyType({}),
    ) -> list[Rescued]:
        """Take back at once what a worker had whose death was seen.

        The tasks in ``running`` are charged a crash; what it had claimed and not begun goes back free. Of the latter
        only those are returned that somebody had cancelled, so that they ended here.
        """
        waited = [task for task in self.held(worker_id) if task.id not in running]
        written = self.release(waited)
        ended = [
            Rescued(task.id, State.CANCELLED, task.worker_name, task.crashes, task.backend_alias)
            for task in waited
            if written.get(task.key) == State.CANCELLED
        ]
        self.stop_worker(worker_id)
        return ended + self.rescue(max_crashes=max_crashes, by_backend=by_backend)
