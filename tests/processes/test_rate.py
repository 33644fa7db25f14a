"""A service that may be called only so often, and two processes that would call it at once."""

import pytest

from tests import limited_tasks

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True)]

LIMIT, CALLS = 25, 60


def test_two_worker_processes_together_never_exceed_the_rate(run_fast_worker, ledger):
    limited_tasks.call_service.enqueue_many([((ledger.path,), {}) for _ in range(CALLS)])
    workers = [run_fast_worker("--drain", "--threads", "4") for _ in range(2)]
    assert [worker.wait(60) for worker in workers] == [0, 0]
    calls = sorted(float(line.split()[0]) for line in ledger.lines)
    assert len(calls) == CALLS
    assert max(sum(first <= call < first + 1 for call in calls) for first in calls) <= LIMIT
