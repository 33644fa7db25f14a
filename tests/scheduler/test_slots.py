"""Which of the slots that have come are run, by what is wanted of missed ones."""

import time
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from django_locqueue.scheduler.rule import Every, rule_of
from django_locqueue.scheduler.slots import MOST_CAUGHT_UP, due_slots, latest_slots, next_slots
from tests.scheduler.oracle import utc

EACH_MINUTE = rule_of("* * * * *", timezone="UTC")
NOW = utc(2026, 3, 4, 5, 6, 7)


def minutes_ago(count):
    return NOW.replace(second=0) - timedelta(minutes=count)


def test_one_slot_that_has_come_is_run_whatever_is_wanted_of_missed_ones():
    for missed in ("once", "skip", "all"):
        assert due_slots(EACH_MINUTE, minutes_ago(0), NOW, missed) == ([minutes_ago(0)], minutes_ago(-1))


def test_of_many_the_latest_is_run_once():
    assert due_slots(EACH_MINUTE, minutes_ago(30), NOW, "once").slots == [minutes_ago(0)]


def test_or_each():
    assert due_slots(EACH_MINUTE, minutes_ago(2), NOW, "all").slots == [minutes_ago(2), minutes_ago(1), minutes_ago(0)]


def test_each_is_bounded_by_the_latest_hundred():
    slots = due_slots(EACH_MINUTE, minutes_ago(60_000), NOW, "all").slots
    assert (len(slots), slots[-1]) == (MOST_CAUGHT_UP, minutes_ago(0))


def test_or_none_that_is_older_than_a_minute():
    daily = rule_of("0 3 * * *", timezone="UTC")
    assert due_slots(daily, utc(2026, 3, 1, 3), NOW, "skip") == ([], utc(2026, 3, 5, 3))
    assert due_slots(daily, utc(2026, 3, 1, 3), utc(2026, 3, 4, 3, 0, 40), "skip").slots == [utc(2026, 3, 4, 3)]


@pytest.mark.parametrize("missed", ["once", "skip", "all"])
@pytest.mark.parametrize("rule", [Every(1), EACH_MINUTE, rule_of("0 0 29 2 *", timezone="UTC")])
def test_a_first_slot_of_long_ago_costs_little(rule, missed):
    began = time.process_time()
    assert len(due_slots(rule, utc(1, 1, 2), NOW, missed).slots) <= MOST_CAUGHT_UP
    assert time.process_time() - began < 2


@given(st.integers(0, 5_000), st.integers(1, 5))
def test_the_latest_slots_are_those_that_counting_up_finds(minutes, most):
    counted = [minutes_ago(each) for each in range(minutes, -1, -1)]
    assert latest_slots(EACH_MINUTE, minutes_ago(minutes), NOW, most) == counted[-most:]


def test_the_next_five_can_be_told():
    assert next_slots(rule_of("0 3 * * *", timezone="UTC"), NOW) == [utc(2026, 3, day, 3) for day in range(5, 10)]
