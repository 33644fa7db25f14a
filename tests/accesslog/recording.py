"""A queue for the recorder that may be down, and requests for it to record."""

import threading

from tests.accesslog.conftest import a_raw_hit


class Queue:
    """A queue that may be down, and refuses the path /bad. ``batches``: the paths of each batch it took."""

    def __init__(self):
        self.batches = []
        self.is_down = False
        self.refusal = TypeError("Argument hits[0][9] does not survive JSON.")
        self.took = threading.Event()

    def send(self, batch):
        if self.is_down:
            raise ConnectionError("database is down")
        if any(hit.path.startswith("/bad") for hit in batch):
            raise self.refusal
        self.batches.append([hit.path for hit in batch])
        self.took.set()

    @property
    def paths(self):
        return [path for batch in self.batches for path in batch]


def record(recorder, *paths):
    for path in paths:
        recorder.record(a_raw_hit(path))
