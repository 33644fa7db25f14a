"""Where the next claim begins: at the heads of the queues, or behind what was claimed last."""

from datetime import timedelta

import pytest

from django_locqueue.service import LARGEST_SHARE, LONGEST_REST_SECONDS
from django_locqueue.store.serve import Look, Owner
from django_locqueue.worker import claimer as module
from django_locqueue.worker.claimer import Claimer
from tests.worker.fakes import NOW, claimed

OWNER = Owner(1, "w")


class Queues:
    """A store whose claims are noted: None for a look at the heads, else the id of the mark."""

    def __init__(self):
        self.ready = []
        self.asked = []
        self.clock = 0.0
        self.look_takes = 0.0

    def look(self):
        return Look([], is_limited=False)

    def claim(self, owner, limit, **options):
        self.asked.append(None)
        self.clock += self.look_takes
        return self._take(limit, self.ready)

    def claim_from(self, queue_name, owner, limit, *, after, now=None):
        self.asked.append(after.id)
        behind = [
            task
            for task in self.ready
            if (task.queue_name, task.priority) == (queue_name, after.priority)
            and (task.run_after, task.id) > (after.run_after, after.id)
        ]
        return self._take(limit, behind)

    def _take(self, limit, tasks):
        taken = sorted(tasks, key=lambda task: task.order)[:limit]
        self.ready = [task for task in self.ready if task not in taken]
        return taken


@pytest.fixture
def queues(monkeypatch):
    queues = Queues()
    monkeypatch.setattr(module.time, "monotonic", lambda: queues.clock)
    return queues


@pytest.fixture
def claimer(queues):
    return Claimer(queues, queues=(), exclude_queues=())


def ids(tasks):
    return [task.id for task in tasks]


def test_while_claims_are_filled_the_next_begins_behind_the_last(queues, claimer):
    queues.ready = [claimed(id) for id in range(1, 7)]
    assert [ids(claimer.claim(OWNER, 2)) for _ in range(3)] == [[1, 2], [3, 4], [5, 6]]
    assert queues.asked == [None, 2, 4]


def test_a_claim_that_is_not_filled_behind_the_marks_looks_at_the_heads_at_once(queues, claimer):
    queues.ready = [claimed(1), claimed(2), claimed(3)]
    claimer.claim(OWNER, 2)
    queues.ready.append(claimed(4, priority=-1))
    assert ids(claimer.claim(OWNER, 2)) == [3, 4]
    assert queues.asked == [None, 2, None]


def test_what_comes_in_front_of_the_marks_is_found_after_a_moment(queues, claimer):
    queues.ready = [claimed(id, run_after=NOW) for id in range(10, 20)]
    claimer.claim(OWNER, 2)
    queues.ready.append(claimed(1, run_after=NOW - timedelta(hours=1)))
    queues.ready.append(claimed(2, priority=9))
    assert ids(claimer.claim(OWNER, 2)) == [12, 13]
    queues.clock += module.LOOK_AROUND_SECONDS
    assert ids(claimer.claim(OWNER, 2)) == [2, 1]


def test_after_a_claim_that_was_not_filled_the_heads_are_looked_at(queues, claimer):
    queues.ready = [claimed(1)]
    claimer.claim(OWNER, 2)
    claimer.claim(OWNER, 2)
    assert queues.asked == [None, None]


def test_each_queue_and_priority_has_its_mark_and_the_higher_priority_goes_first(queues, claimer):
    queues.ready = [
        *(claimed(id, priority=5) for id in (1, 2)),
        *(claimed(id, queue_name="mail") for id in (3, 4)),
        *(claimed(id) for id in (5, 6)),
    ]
    claimer.claim(OWNER, 6)
    queues.ready = [claimed(7, queue_name="mail"), claimed(8, priority=5), claimed(9, priority=5)]
    assert ids(claimer.claim(OWNER, 3)) == [8, 9, 7]
    assert None not in queues.asked[1:]


def test_long_looks_take_no_more_than_their_share_of_the_time(queues, claimer):
    queues.ready = [claimed(id) for id in range(1, 100)]
    queues.look_takes = 1.0
    look_twice(queues, claimer)
    queues.asked.clear()
    while None not in queues.asked:
        claimer.claim(OWNER, 1)
        queues.clock += 0.5
    rested = 0.5 * (len(queues.asked) - 1)
    assert queues.look_takes / (queues.look_takes + rested) <= LARGEST_SHARE * 1.05


def test_while_looks_are_long_a_poll_that_finds_nothing_does_not_look_again(queues, claimer):
    queues.ready = [claimed(1)]
    queues.look_takes = 1.0
    look_twice(queues, claimer)
    queues.asked.clear()
    assert claimer.claim(OWNER, 2) == []
    queues.ready = [claimed(2)]
    assert ids(claimer.claim(OWNER, 2)) == [2]
    assert queues.asked == [1, 1]


def look_twice(queues, claimer):
    """One long look may have waited for a lock; the second shows that dead rows are in the way."""
    claimer.claim(OWNER, 2)
    queues.clock = max(queues.clock, claimer._look_again_at)
    claimer.claim(OWNER, 2)


def test_one_look_that_took_long_keeps_nobody_waiting(queues, claimer):
    queues.look_takes = 25.0  # a lock on the table, a machine that stood still
    assert claimer.claim(OWNER, 2) == []
    queues.look_takes = 0.001
    queues.ready = [claimed(1)]
    assert ids(claimer.claim(OWNER, 2)) == [1]


def test_however_long_looks_take_they_come_again_within_a_bound(queues, claimer):
    queues.look_takes = 600.0
    look_twice(queues, claimer)
    queues.ready = [claimed(1, queue_name="another")]
    queues.clock += LONGEST_REST_SECONDS
    assert ids(claimer.claim(OWNER, 2)) == [1]
