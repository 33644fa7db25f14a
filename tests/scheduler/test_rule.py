"""When a rule comes: across changes of the clock, by the conventions of cron, and never a date that does not exist."""

import time
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from django_locqueue.exceptions import InvalidSchedule
from django_locqueue.scheduler.rule import LONGEST_SECONDS, Every, rule_of
from tests.scheduler.oracle import Oracle, utc


def times(cron, zone, start, count=1):
    rule, found = rule_of(cron, timezone=zone), [start]
    for _ in range(count):
        found.append(rule.after(found[-1]))
    return found[1:]


def days_of(cron, zone, start, end):
    """Return the times from ``start`` to ``end``, in the zone's own words."""
    found, at = [], rule_of(cron, timezone=zone).after(start)
    while at <= end:
        found.append(at.astimezone(ZoneInfo(zone)))
        at = rule_of(cron, timezone=zone).after(at)
    return found


class TestC1:
    """Fixed-time jobs on the day on which the clock changes."""

    NEW_YORK = "America/New_York"

    def test_after_the_clock_was_put_back_a_daily_time_is_once_a_day(self):
        start = datetime(2026, 10, 31, 17, tzinfo=ZoneInfo(self.NEW_YORK))
        assert times("0 17 * * *", self.NEW_YORK, start) == [utc(2026, 11, 1, 22)]

    def test_after_the_clock_was_put_forward_a_daily_time_is_not_an_hour_late(self):
        start = datetime(2026, 3, 7, 16, 4, tzinfo=ZoneInfo(self.NEW_YORK))
        assert times("4 16 * * *", self.NEW_YORK, start) == [utc(2026, 3, 8, 20, 4)]

    def test_a_time_that_the_clock_leaves_out_comes_once_right_after_the_gap(self):
        found = days_of("30 2 * * *", self.NEW_YORK, utc(2026, 3, 8, 5), utc(2026, 3, 9, 3, 59))
        assert [str(at) for at in found] == ["2026-03-08 03:00:00-04:00"]

    def test_a_time_in_the_hour_that_comes_twice_comes_once(self):
        found = days_of("30 1 * * *", self.NEW_YORK, utc(2026, 11, 1, 4), utc(2026, 11, 2, 4, 59))
        assert [str(at) for at in found] == ["2026-11-01 01:30:00-04:00"]

    def test_who_asks_in_the_second_pass_of_that_hour_is_told_the_next_day(self):
        assert times("30 1 * * *", self.NEW_YORK, utc(2026, 11, 1, 6, 15)) == [utc(2026, 11, 2, 6, 30)]

    def test_a_zone_that_is_not_a_whole_hour_away(self):
        start = datetime(2026, 9, 26, 3, 50, tzinfo=ZoneInfo("Pacific/Chatham"))
        [at] = times("50 3 * * *", "Pacific/Chatham", start)
        assert str(at.astimezone(ZoneInfo("Pacific/Chatham"))) == "2026-09-27 03:50:00+13:45"

    def test_a_change_by_half_an_hour(self):
        assert times("15 2 * * *", "Australia/Lord_Howe", utc(2026, 10, 3, 0), 2) == [
            utc(2026, 10, 3, 15, 30),
            utc(2026, 10, 4, 15, 15),
        ]

    def test_a_day_that_a_zone_left_out(self):
        found = days_of("0 12 * * *", "Pacific/Apia", utc(2011, 12, 29), utc(2012, 1, 1))
        assert [f"{at:%d %H:%M}" for at in found] == ["29 12:00", "31 00:00", "31 12:00", "01 12:00"]

    def test_a_rule_of_each_half_hour_goes_by_the_clock_on_the_wall(self):
        assert len(days_of("*/30 * * * *", self.NEW_YORK, utc(2026, 11, 1, 3, 59), utc(2026, 11, 2, 4, 59))) == 50


class TestC2:
    """0 is Sunday."""

    def test_weekday_0_is_sunday(self):
        assert times("0 0 * * 0", "UTC", utc(2026, 1, 7)) == [utc(2026, 1, 11)]

    def test_1_to_5_are_monday_to_friday(self):
        found = days_of("0 9 * * 1-5", "UTC", utc(2026, 1, 1), utc(2026, 1, 31, 23))
        assert {at.strftime("%a") for at in found} == {"Mon", "Tue", "Wed", "Thu", "Fri"}

    @pytest.mark.parametrize("name", ["SUN", "sun", "Sun", "7", "0"])
    def test_names_of_days_are_taken_in_any_case(self, name):
        assert times(f"0 0 * * {name}", "UTC", utc(2026, 1, 7)) == [utc(2026, 1, 11)]


class TestC3:
    """Day of month and day of week, both given: either is enough."""

    def test_either_of_two_restricted_day_fields_is_enough(self):
        found = days_of("0 22 1-7 * 6", "UTC", utc(2026, 8, 1), utc(2026, 8, 31, 23))
        assert [at.date() for at in found] == [date(2026, 8, day) for day in (*range(1, 9), 15, 22, 29)]

    def test_with_a_star_only_the_other_counts(self):
        found = days_of("0 22 * * 6", "UTC", utc(2026, 8, 1), utc(2026, 8, 31, 23))
        assert [at.day for at in found] == [1, 8, 15, 22, 29]


class TestC4:
    """A date that never comes."""

    @pytest.mark.parametrize("cron", ["0 0 31 4 *", "0 0 30 2 *", "0 0 31 2,4 *", "0 0 31 2,4,6,9,11 *"])
    def test_a_date_that_never_comes_is_refused_at_once(self, cron):
        began = time.process_time()
        with pytest.raises(InvalidSchedule, match="never matches a date"):
            rule_of(cron)
        assert time.process_time() - began < 1

    @pytest.mark.parametrize(
        "cron",
        [
            *("60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "*/0 * * * *", "5-1 * * * *"),
            *("x * * * *", "* * * * MOON", "1, * * * *", "-1 * * * *", "* * * * 1#6", "٣ * * * *"),
        ],
    )
    def test_what_is_malformed_is_refused_and_the_field_is_named(self, cron):
        with pytest.raises(InvalidSchedule, match=r"is malformed: .* Look at the (minute|hour|day|month)") as raised:
            rule_of(cron)
        assert raised.value.field == "cron"

    @pytest.mark.parametrize("cron", ["* * * *", "* * * * * *", "* * * * * * *", "@daily", "0"])
    def test_there_are_five_fields(self, cron):
        with pytest.raises(InvalidSchedule, match="must have five fields"):
            rule_of(cron)

    @pytest.mark.parametrize("cron", ["", None])
    def test_without_a_rule_there_is_no_schedule(self, cron):
        with pytest.raises(InvalidSchedule, match="is missing"):
            rule_of(cron)

    @pytest.mark.parametrize("cron", [5, ["* * * * *"], "* " * 200])
    def test_anything_but_a_text_is_refused(self, cron):
        with pytest.raises(InvalidSchedule, match="must be a text of at most"):
            rule_of(cron)

    def test_the_29th_of_february_comes(self):
        assert times("0 0 29 2 *", "UTC", utc(2026, 1, 1)) == [utc(2028, 2, 29)]


FIELDS = [
    st.sampled_from(["*", "*/20", "0", "15", "30", "45", "0,30", "5-10", "59"]),
    st.sampled_from(["*", "*/6", "0", "1", "2", "3", "1,2", "0-3", "12", "23"]),
    st.sampled_from(["*", "1", "1-7", "*/2", "15,30"]),
    st.sampled_from(["*", "3", "4", "9-11", "12"]),
    st.sampled_from(["*", "0", "7", "1-5", "6"]),
]
RULES = st.tuples(*FIELDS).map(" ".join)
ZONES = st.sampled_from(
    [
        *("UTC", "America/New_York", "Australia/Lord_Howe", "Pacific/Chatham", "Pacific/Apia", "Asia/Shanghai"),
        *("Asia/Beirut", "America/Sao_Paulo"),  # the clock changes at midnight, or did
    ]
)
# Around changes of the clock in one of the zones, and anywhere else.
BEGINS = st.one_of(
    st.sampled_from(
        [
            *("2026-03-07", "2026-10-31", "2026-10-02", "2026-04-03", "2026-09-25", "2011-12-28", "2020-09-25"),
            *("2021-04-02", "1991-04-13", "2018-11-03", "2026-03-28", "2025-10-24"),
        ]
    ).map(lambda day: utc(*map(int, day.split("-")))),
    st.integers(0, 45 * 366 * 86_400).map(lambda seconds: utc(1990, 1, 1) + timedelta(seconds=seconds)),
)


@settings(max_examples=150, deadline=None)
@given(RULES, ZONES, BEGINS, st.integers(0, 86_400))
@example("* */6 * * *", "Australia/Lord_Howe", utc(2026, 10, 2), 0)
@example("*/20 0 * * 0", "Asia/Beirut", utc(2026, 3, 28), 0)
@example("30 1 * * *", "America/New_York", utc(2026, 10, 31), 30 * 3600 + 900)
def test_every_time_of_a_rule_is_that_of_an_oracle_minute_by_minute(cron, zone, begin, seconds):
    begin += timedelta(seconds=seconds)
    end = begin + timedelta(days=2)
    rule, found = rule_of(cron, timezone=zone), []
    at = rule.after(begin)
    while at is not None and at <= end:
        found.append(at)
        at = rule.after(at)
    assert found == Oracle(cron, ZoneInfo(zone)).between(begin, end)


def test_seconds_are_counted_from_one_moment_for_all():
    assert Every(10).after(utc(2026, 1, 1, 0, 0, 3)) == utc(2026, 1, 1, 0, 0, 10)
    assert Every(10).after(utc(2026, 1, 1, 0, 0, 10)) == utc(2026, 1, 1, 0, 0, 20)


@given(st.integers(1, LONGEST_SECONDS), st.integers(0, 10**10))
def test_the_next_of_every_so_many_seconds_is_the_first_multiple_after(seconds, begin):
    moment = utc(1971, 1, 1) + timedelta(seconds=begin, microseconds=begin % 1000)
    found = Every(seconds).after(moment)
    assert timedelta(0) < found - moment <= timedelta(seconds=seconds)
    assert found.timestamp() % seconds == 0


@pytest.mark.parametrize("every", [0, -1, 0.5, 10.0, "10", True, LONGEST_SECONDS + 1])
def test_only_whole_seconds_are_an_interval(every):
    with pytest.raises(InvalidSchedule, match="must be a whole number of seconds"):
        rule_of(every=every)


def test_a_schedule_has_one_rule():
    with pytest.raises(InvalidSchedule, match="leave one of the two out"):
        rule_of("* * * * *", every=10)


@pytest.mark.parametrize(
    ("name", "meant"),
    [("Asia/Shanghia", "Asia/Shanghai"), ("Shanghai", "Asia/Shanghai"), ("America", "America/"), (5, "")],
)
def test_an_unknown_time_zone_is_told_with_one_that_was_meant(name, meant):
    with pytest.raises(InvalidSchedule, match=f"is not the name of a time zone. One is “.*{meant}") as raised:
        rule_of("* * * * *", timezone=name)
    assert raised.value.field == "timezone"


def test_without_a_time_zone_it_is_the_project_s(settings):
    settings.TIME_ZONE = "Asia/Shanghai"
    assert rule_of("0 3 * * *").after(utc(2026, 1, 1)) == utc(2026, 1, 1, 19)
