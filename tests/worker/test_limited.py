"""When the lines of limited tasks are looked at, and where the next look goes on."""

import math

import pytest

from django_locqueue.store.limits import LimitedClaim
from django_locqueue.store.lines import Line
from django_locqueue.store.serve import Owner
from django_locqueue.worker import limited as module
from django_locqueue.worker.limited import LimitedClaimer
from tests.worker.fakes import claimed

OWNER = Owner(1, "w")
FIRST, SECOND = Line("default", "c:1"), Line("default", "c:2")


class Lines:
    """A store that gives the answers which the test put into it."""

    def __init__(self):
        self.answers = []
        self.asked = []
        self.clock = 100.0
        self.takes = 0.0

    def claim_limited(self, owner, limit, *, after, **options):
        self.asked.append(after)
        self.clock += self.takes
        return self.answers.pop(0) if self.answers else LimitedClaim()

    def claim_lines(self, lines, owner, limit, **options):
        self.asked.append(list(lines))
        return self.answers.pop(0) if self.answers else LimitedClaim()


@pytest.fixture
def lines(monkeypatch):
    lines = Lines()
    monkeypatch.setattr(module.time, "monotonic", lambda: lines.clock)
    return lines


@pytest.fixture
def claimer(lines):
    return LimitedClaimer(lines, (), ())


def test_where_nothing_is_limited_nobody_looks(claimer):
    assert claimer.due_in == math.inf
    claimer.note(any_waits=False)
    assert claimer.due_in == math.inf


def test_what_a_look_at_the_heads_has_seen_is_looked_for_at_once(claimer):
    claimer.note(any_waits=True)
    assert claimer.due_in == 0


def test_the_next_look_is_when_a_line_may_give_more(lines, claimer):
    lines.answers = [LimitedClaim(next_seconds=2.5)]
    claimer.claim(OWNER, 1)
    assert claimer.due_in == 2.5


def test_the_first_line_of_a_round_decides_when_the_next_begins(lines, claimer):
    lines.answers = [LimitedClaim(next_seconds=2.5, last=FIRST), LimitedClaim(next_seconds=7.0)]
    claimer.claim(OWNER, 1)
    assert claimer.due_in == 0
    claimer.claim(OWNER, 1)
    assert claimer.due_in == 2.5
    assert lines.asked == [None, FIRST]


def test_a_round_goes_on_behind_the_line_that_used_up_the_room(lines, claimer):
    lines.answers = [LimitedClaim(tasks=[claimed(1)], next_seconds=0.0, last=FIRST), LimitedClaim()]
    claimer.claim(OWNER, 1)
    claimer.claim(OWNER, 1)
    assert lines.asked == [None, FIRST]
    assert claimer.due_in == pytest.approx(module.LEAST_WAIT_SECONDS), "that line may have had more"


def test_the_line_of_a_task_that_has_ended_is_looked_at_alone(lines, claimer):
    claimer.end(claimed(1, limit_key="c:2"))
    assert claimer.due_in == 0
    claimer.claim(OWNER, 1)
    assert lines.asked == [[SECOND]]
    assert claimer.due_in == math.inf


@pytest.mark.parametrize("key", [None, "r:amap", "k:shop.send"])
def test_the_end_of_a_task_that_holds_nobody_back_is_no_reason_to_look(claimer, key):
    claimer.end(claimed(1, limit_key=key))
    assert claimer.due_in == math.inf


def test_rounds_that_take_long_take_no_more_than_their_share_of_the_time(lines, claimer):
    lines.takes = 0.1
    claimer.claim(OWNER, 1)
    claimer.note(any_waits=True)
    assert claimer.due_in == pytest.approx(1.9)


def test_rounds_that_give_nothing_come_no_more_often_than_polls(lines, claimer):
    for _ in range(20):
        claimer.claim(OWNER, 1)
        claimer.note(any_waits=True)
        lines.clock += claimer.due_in
    assert claimer.due_in == 0
    claimer.claim(OWNER, 1)
    claimer.note(any_waits=True)
    assert claimer.due_in == claimer.most


def test_after_a_round_that_gave_something_the_next_may_come_soon(lines, claimer):
    test_rounds_that_give_nothing_come_no_more_often_than_polls(lines, claimer)
    lines.answers = [LimitedClaim(tasks=[claimed(1)])]
    claimer.claim(OWNER, 2)
    claimer.note(any_waits=True)
    assert claimer.due_in == pytest.approx(claimer.least)


def test_what_was_heard_is_looked_for_at_once(lines, claimer):
    lines.takes = 0.1
    claimer.claim(OWNER, 1)
    claimer.hear()
    assert claimer.due_in == 0
