"""A dispatcher and its pool, with a store and an executor that the test holds in its hands."""

from contextlib import contextmanager

from django_locqueue.store.serve import Owner
from django_locqueue.worker.dispatcher import Dispatcher
from django_locqueue.worker.pool import Pool
from django_locqueue.worker.threads import ThreadRange
from tests.worker.fakes import FakeStore, GatedExecutor, claimed


class Stage:
    def __init__(self, size, most=None):
        self.store = FakeStore()
        self.executor = GatedExecutor()
        self.ended = []
        self.given_back = []
        self.owner = Owner(1, "w:1")
        self.pool = Pool(ThreadRange(size, most or size), self.executor, on_end=self.ended.append)
        self.dispatcher = Dispatcher(
            self.store,
            self.pool,
            owner=lambda: self.owner,
            give_back=self.given_back.append,
            ending=set,
        )
        self.pool.start()


@contextmanager
def on_stage(size, most=None):
    """Give a stage whose tasks wait for its gate; at the end it is opened, and the threads are waited for."""
    stage = Stage(size, most)
    yield stage
    stage.executor.gate.set()
    assert stage.pool.wait_idle(10)
    stage.pool.stop(10)


def suspects(*ids):
    return [claimed(id)._replace(crashes=1) for id in ids]
