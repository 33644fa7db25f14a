"""Where the next claim begins: at the heads of the queues, or behind what was claimed last."""

from datetime import timedelta

import pytest

from django_locqueue.service import IDLE_SECONDS, LARGEST_SHARE
from django_locqueue.store.look_back import Found
from django_locqueue.store.serve import Look, Owner
from django_locqueue.worker import claimer as module
from django_locqueue.worker.claimer import Claimer
from django_locqueue.worker.scout import LONGEST_REST_SECONDS, Scout
from tests.worker.fakes import NOW, claimed

OWNER = Owner(1, "w")


class Queues:
    """A store whose claims are noted: None for a look at the heads, else the id of the mark."""

    def __init__(self):
        self.ready = []
        self.asked = []
        self.clock = 0.0
        self.look_takes = 0.0

    def look(self, now=None):
        return Look([], is_limited=False)

    def claim(self, owner, limit, **options):
        self.asked.append(None)
        self.clock += self.look_takes
        return self._take(limit, self.ready)

    def claim_from(self, queue_name, owner, limit, *, after=None, now=None):
        if after is None:
            return self._take(limit, [task for task in self.ready if task.queue_name == queue_name])
        self.asked.append(after.id)
        behind = [
            task
            for task in self.ready
            if (task.queue_name, task.priority) == (queue_name, after.priority)
            and (task.run_after, task.id) > (after.run_after, after.id)
        ]
        return self._take(limit, behind)

    def find_ready(self, limit, **served):
        self.clock += self.look_takes
        names = {task.queue_name for task in self.ready}
        return [Found(name, [task.id for task in self.ready if task.queue_name == name]) for name in sorted(names)]

    def held(self, worker_id):
        return [claimed(99)]

    def claim_found(self, found, owner, *, now=None):
        self.asked.append(found.ids)
        return self._take(len(found.ids), [task for task in self.ready if task.id in found.ids])

    def _take(self, limit, tasks):
        taken = sorted(tasks, key=lambda task: (-task.priority, task.run_after, task.id))[:limit]
        self.ready = [task for task in self.ready if task not in taken]
        return taken


@pytest.fixture
def queues(monkeypatch):
    queues = Queues()
    monkeypatch.setattr(module.time, "monotonic", lambda: queues.clock)
    return queues


@pytest.fixture
def scout(queues):
    return Scout(queues, lambda: OWNER, (), (), on_return=lambda: None)


@pytest.fixture
def claimer(queues, scout):
    return Claimer(queues, scout)


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


def look_twice(queues, claimer):
    """One long look may have waited for a lock; the second shows that dead rows are in the way."""
    queues.look_takes = 1.0
    claimer.claim(OWNER, 2)
    queues.clock = max(queues.clock, claimer._look_again_at)
    claimer.claim(OWNER, 2)
    queues.asked.clear()


def test_where_looks_are_long_the_scout_makes_them_and_the_dispatcher_none(queues, claimer, scout):
    queues.ready = [claimed(id) for id in range(1, 100)]
    look_twice(queues, claimer)
    for _ in range(20):
        claimer.claim(OWNER, 2)
        queues.clock += 10
    assert scout.is_out
    assert queues.asked == list(range(4, 44, 2))


def test_while_the_scout_is_out_a_poll_that_finds_nothing_does_not_look(queues, claimer):
    queues.ready = [claimed(1)]
    look_twice(queues, claimer)
    assert claimer.claim(OWNER, 2) == []
    queues.ready = [claimed(2)]
    claimer.hear("default")
    assert ids(claimer.claim(OWNER, 2)) == [2]
    assert queues.asked == [1, 1]


def test_while_the_scout_is_out_a_queue_without_a_mark_is_heard_at_once(queues, claimer):
    queues.ready = [claimed(1)]
    look_twice(queues, claimer)
    queues.ready = [claimed(7, queue_name="mail")]
    claimer.hear("mail")
    assert ids(claimer.claim(OWNER, 2)) == [7]


def test_what_the_scout_has_found_is_claimed_first_and_no_more_than_asked_for(queues, claimer, scout):
    queues.ready = [claimed(id, run_after=NOW) for id in range(10, 20)]
    look_twice(queues, claimer)
    late = [claimed(id, run_after=NOW - timedelta(hours=1)) for id in (1, 2, 3)]
    queues.ready = [*late, claimed(4, queue_name="new"), *queues.ready]
    scout.run_once()
    assert ids(claimer.claim(OWNER, 2)) == [1, 2]
    assert ids(claimer.claim(OWNER, 2)) == [3, 14]
    assert set(ids(claimer.claim(OWNER, 20))) == {4, *range(15, 20)}


def test_the_scout_takes_no_more_than_its_share_of_the_time(queues, claimer, scout):
    look_twice(queues, claimer)
    rest = scout.run_once()
    assert queues.look_takes / (queues.look_takes + rest) <= LARGEST_SHARE * 1.05


def test_however_long_its_looks_take_the_scout_goes_again_within_a_bound(queues, claimer, scout):
    look_twice(queues, claimer)
    queues.look_takes = 600.0
    assert scout.run_once() == LONGEST_REST_SECONDS


def test_a_scout_whose_look_was_short_comes_home_and_the_dispatcher_looks_again(queues, claimer, scout):
    look_twice(queues, claimer)
    queues.look_takes = 0.001
    queues.ready = [claimed(1, queue_name="another")]
    scout.run_once()
    assert not scout.is_out
    assert ids(claimer.claim(OWNER, 2)) == [1]
    assert queues.asked == [None]
    assert scout.run_once() == IDLE_SECONDS


def test_the_scout_brings_what_this_worker_holds_and_gives_it_once(queues, claimer, scout):
    look_twice(queues, claimer)
    scout.run_once()
    assert ids(scout.take_held()) == [99]
    assert scout.take_held() is None


def test_one_look_that_took_long_keeps_nobody_waiting(queues, claimer):
    queues.look_takes = 25.0  # a lock on the table, a machine that stood still
    assert claimer.claim(OWNER, 2) == []
    queues.look_takes = 0.001
    queues.ready = [claimed(1)]
    assert ids(claimer.claim(OWNER, 2)) == [1]
