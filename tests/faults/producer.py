"""``python -m tests.faults.producer COMMITTED RUNS PER_SECOND``: enqueue until a signal comes, whatever happens.

Each id is written to the ledger ``COMMITTED`` after its commit: what stands there must never be lost. An enqueue whose
answer was lost may be stored without standing there.
"""

import random
import signal
import sys
import threading
from typing import Any

import django


def main(committed: str, ledger: str, per_second: float) -> None:
    django.setup()
    from django.db import Error

    from django_locqueue.connections import close_connections
    from tests.faults.load import work
    from tests.tasks import write_ledger

    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: stopped.append(number))
    tick = threading.Event()  # never set: a signal handler must not take its lock
    while not stopped:
        tick.wait(min(1.0, random.expovariate(per_second / 5)))
        calls: list[Any] = [
            ((ledger, random.choice((0, 0.005, 0.02, 0.2))), {}) for _ in range(random.choice((1, 5, 9)))
        ]
        try:
            results = work.enqueue_many(calls) if len(calls) > 1 else [work.enqueue(*calls[0][0])]
        except Error:
            close_connections()
            continue
        write_ledger(committed, "\n".join(str(result.id) for result in results))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
