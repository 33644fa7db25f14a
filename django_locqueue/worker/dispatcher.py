"""Claims tasks for free slots."""

from collections.abc import Callable, Collection
from datetime import datetime

from django_locqueue import conf
from django_locqueue.service import IDLE_SECONDS, Service
from django_locqueue.store import Store
from django_locqueue.store.serve import Owner
from django_locqueue.worker.pool import Pool


class Dispatcher(Service):
    """Polls fast just after work and slowly when idle. ``owner()`` gives the present worker row, None while its
    lease is in doubt: nothing is claimed then."""

    name = "dispatcher"

    def __init__(
        self,
        store: Store,
        pool: Pool,
        owner: Callable[[], Owner | None],
        *,
        queues: Collection[str] = (),
        exclude_queues: Collection[str] = (),
    ) -> None:
        super().__init__()
        self.store = store
        self.pool = pool
        self.owner = owner
        self.queues = queues
        self.exclude_queues = exclude_queues
        self.least, self.most = map(float, conf.worker.POLL_SECONDS)
        self._delay = self.least
        self._known_queues: set[str] = set()
        self.found_nothing = False  # the last claim had room and got less: nothing was ready then

    def run_once(self, now: datetime | None = None) -> float:
        owner = self.owner()
        free = self.pool.free
        if owner is None:
            return self.least
        if not free:
            return IDLE_SECONDS  # a slot that becomes free wakes us
        claimed = self.store.claim(owner, free, queues=self.queues, exclude_queues=self.exclude_queues, now=now)
        for task in claimed:
            self.pool.submit(task)
        self.found_nothing = len(claimed) < free
        self._remember({task.queue_name for task in claimed})
        self._delay = self.least if claimed else min(self._delay * 1.5, self.most)
        return self._delay

    def _remember(self, names: set[str]) -> None:
        if new := names - self._known_queues:
            self.store.add_queues(sorted(new))
            self._known_queues |= new
