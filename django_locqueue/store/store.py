"""The store: every write to a task row, and every transaction. The list of its verbs is the glossary."""

from collections.abc import Collection, Mapping
from types import MappingProxyType

from django_locqueue.models import State
from django_locqueue.store.aside import SettingAside
from django_locqueue.store.bulk import Bulk
from django_locqueue.store.end_counts import KeepingCounts
from django_locqueue.store.limits import Limiting
from django_locqueue.store.recover import Rescued
from django_locqueue.store.schedules import Scheduling
from django_locqueue.store.unique import UniqueEnqueuing
from django_locqueue.store.values import Key
from django_locqueue.store.workflows import Workflows


class Store(
    UniqueEnqueuing,
    Limiting,
    SettingAside,
    Workflows,
    Scheduling,
    Bulk,
    KeepingCounts,
):
    """Verbs of all databases. A vendor's file overrides the smallest step that the database forces."""

    def give_up_worker(
        self,
        worker_id: int,
        *,
        begun: Collection[Key],
        max_crashes: int,
        by_backend: Mapping[str, int] = MappingProxyType({}),
    ) -> list[Rescued]:
        """Take back at once what a worker had whose death was seen.

        The claims in ``begun`` are charged a crash, also those that had ended without having their outcome stored: they
        run again, and perhaps one of them has killed it. What it had claimed and not begun goes back free. Of the
        latter only those are returned that somebody had cancelled, so that they ended here.
        """
        ended = self._give_back(worker_id, begun)
        self.stop_worker(worker_id)
        # A claim that the dead process had sent may have committed since.
        ended += self._give_back(worker_id, begun)
        return ended + self.rescue(max_crashes=max_crashes, by_backend=by_backend, thorough=False)

    def _give_back(self, worker_id: int, begun: Collection[Key]) -> list[Rescued]:
        """Release what a dead worker holds and had not begun, until nothing of it is left."""
        ended: list[Rescued] = []
        while waited := [task for task in self.held(worker_id) if task.key not in begun]:
            written = self.release(waited)
            ended += [
                Rescued(
                    *(task.id, State.CANCELLED, task.worker_name, task.crashes),
                    *(task.backend_alias, task.queue_name, task.task_path, self.now()),
                )
                for task in waited
                if written.get(task.key) == State.CANCELLED
            ]
        return ended
