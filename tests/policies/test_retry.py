"""When to try again, and how long to wait."""

import math
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from django_locqueue.exceptions import Cancel, Retry, Snooze
from django_locqueue.policies.outcome import Kind, Outcome
from django_locqueue.policies.retry import BACKOFF, LONGEST_SECONDS, after_error, exhausted, exponential, sane

numbers = st.one_of(st.integers(-100, 10**6), st.floats(-100, 1e12, allow_nan=False))


def backoff(**changes: float) -> dict[str, float]:
    return {**BACKOFF, **changes}


# -- exponential


@pytest.mark.parametrize(("attempt", "seconds"), [(1, 2), (2, 4), (3, 8), (11, 2048), (12, 3600), (13, 3600)])
def test_each_wait_is_twice_the_last_up_to_the_longest(attempt: int, seconds: float):
    assert exponential(attempt, jitter=0) == seconds


@pytest.mark.parametrize("attempt", [20, 47, 60, 1100, 10**9])
@pytest.mark.parametrize("factor", [2, 5, 2.0, 5.0])
@pytest.mark.parametrize("base", [2, 1e-320, 1e308])
def test_c9_no_attempt_number_overflows(attempt: int, factor: float, base: float):
    assert 0 <= exponential(attempt, backoff(FACTOR=factor, BASE=base)) <= 3600


@pytest.mark.parametrize("factor", [2, 5.0, 1, 0.5, 0])
def test_a_base_of_nothing_is_no_wait_at_any_attempt(factor: float):
    assert exponential(1100, backoff(BASE=0, FACTOR=factor)) == 0


def test_a_factor_of_one_waits_the_same_each_time():
    assert {exponential(attempt, backoff(FACTOR=1), jitter=0) for attempt in (1, 2, 1100)} == {2}


@pytest.mark.parametrize(("jitter", "seconds"), [(-1, 3.6), (0, 4), (1, 4.4)])
def test_the_jitter_is_a_share_of_the_wait(jitter: float, seconds: float):
    assert exponential(2, jitter=jitter) == pytest.approx(seconds)


def test_two_waits_of_the_same_attempt_differ():
    assert len({exponential(5) for _ in range(20)}) > 1


@given(st.integers(-5, 10**6), numbers, numbers, st.floats(0, 1e9), st.floats(0, 10))
def test_a_wait_is_never_negative_and_never_above_the_longest(
    attempt: int, base: float, factor: float, most: float, jitter: float
):
    assert 0 <= exponential(attempt, {"BASE": base, "FACTOR": factor, "MAX": most, "JITTER": jitter}) <= most


@given(st.integers(1, 2000), st.floats(0.001, 1e6), st.floats(1, 1e3), st.floats(0.001, 1e6))
def test_a_later_wait_is_never_shorter(attempt: int, base: float, factor: float, most: float):
    rule = {"BASE": base, "FACTOR": factor, "MAX": most, "JITTER": 0}
    assert exponential(attempt, rule) <= exponential(attempt + 1, rule) * (1 + 1e-9)


# -- sane


@pytest.mark.parametrize("value", [0, 0.0, 1, 59.5, LONGEST_SECONDS])
def test_a_number_of_seconds_is_taken_as_it_is(value: float):
    assert sane(value, otherwise=7) == value


@pytest.mark.parametrize(
    "value",
    [
        None,
        -1,
        -0.001,
        math.inf,
        -math.inf,
        math.nan,
        True,
        "5",
        timedelta(1),
        Decimal(5),
        [],
        10**400,
        1e300,
        object(),
    ],
    ids=repr,
)
def test_what_is_no_time_to_wait_is_replaced(value: Any):
    assert sane(value, otherwise=7) == 7


@given(st.one_of(st.integers(), st.floats(), st.text(), st.none()))
def test_a_wait_is_always_one_that_a_datetime_can_hold(value: Any):
    assert timedelta(seconds=sane(value, otherwise=3600)) >= timedelta(0)


# -- exhausted


@pytest.mark.parametrize(
    ("attempt", "crashes", "max_attempts", "ended"),
    [(1, 0, 1, True), (1, 0, 2, False), (2, 0, 2, True), (2, 1, 2, False), (3, 1, 2, True), (4, 3, 1, True)],
)
def test_crashes_are_not_charged_to_the_task(attempt: int, crashes: int, max_attempts: int, ended: bool):
    assert exhausted(attempt=attempt, crashes=crashes, max_attempts=max_attempts) == ended


# -- after_error


def after(error: BaseException, *, tried_out: bool = False, retry_on: Any = (Exception,)) -> Outcome:
    return after_error(error, exhausted=tried_out, retry_on=retry_on, backoff=lambda: 11.0, longest=3600.0)


def test_an_error_is_retried_after_the_backoff():
    found = after(ValueError("x"))
    assert (found.kind, found.delay) == (Kind.RETRIED, 11.0)
    assert found.error is not None
    assert found.error.message == "x"


def test_the_last_attempt_fails_and_asks_for_no_backoff():
    def never() -> float:
        raise AssertionError("not to be called")

    found = after_error(ValueError(), exhausted=True, retry_on=(Exception,), backoff=never, longest=1)
    assert found.kind is Kind.FAILED


def test_only_the_named_errors_are_retried():
    assert after(KeyError(), retry_on=(OSError,)).kind is Kind.FAILED
    assert after(ConnectionError(), retry_on=(OSError,)).kind is Kind.RETRIED
    assert after(ValueError(), retry_on=()).kind is Kind.FAILED


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt(), GeneratorExit()])
def test_what_ends_a_process_fails_the_task(error: BaseException):
    assert after(error).kind is Kind.FAILED


def test_retry_is_always_retried_while_attempts_are_left():
    assert after(Retry(), retry_on=()).kind is Kind.RETRIED
    assert after(Retry(), retry_on=(), tried_out=True).kind is Kind.FAILED


@pytest.mark.parametrize(("given_", "delay"), [(None, 11), (0, 0), (60, 60), (-1, 3600), (math.nan, 3600), ("x", 3600)])
def test_retry_may_name_its_wait(given_: Any, delay: float):
    assert after(Retry(after=given_)).delay == delay


@pytest.mark.parametrize(("seconds", "delay"), [(5, 5), (0, 0), (-1, 3600), (math.inf, 3600), (None, 3600)])
@pytest.mark.parametrize("tried_out", [True, False])
def test_snooze_waits_whether_or_not_attempts_are_left(seconds: Any, delay: float, tried_out: bool):
    found = after(Snooze(seconds), tried_out=tried_out, retry_on=())
    assert (found.kind, found.delay, found.error) == (Kind.SNOOZED, delay, None)


def test_cancel_ends_with_its_reason():
    found = after(Cancel("not needed"))
    assert found.kind is Kind.CANCELLED
    assert found.error is not None
    assert found.error.message == "not needed"


@pytest.mark.parametrize(
    ("after_", "sentence"), [(60, "asked to retry in 60 s"), (1.5, "asked to retry in 1.5 s"), (None, "its backoff")]
)
def test_a_retry_that_comes_too_late_is_recorded_with_a_sentence(after_: Any, sentence: str):
    failed = after(Retry(after=after_), tried_out=True)
    assert failed.error is not None
    assert failed.error.message.startswith("no attempts left: asked to retry ")
    assert failed.error.message.endswith(sentence)
    retried = after(Retry(after=after_))
    assert retried.error is not None
    assert "no attempts left" not in retried.error.message


@pytest.mark.parametrize(
    ("verdict", "sentence"),
    [
        (Retry(), "asked to retry after its backoff"),
        (Retry(after=60), "asked to retry in 60 s"),
        (
            Retry(after="soon"),  # type: ignore[arg-type]
            "asked to retry in 'soon', which is no number of seconds: it waits for the longest backoff",
        ),
        (Snooze(60), "asked to run again in 60 s"),
        (Cancel("not needed"), "not needed"),
        (Cancel(), "cancelled without a reason"),
    ],
    ids=repr,
)
def test_what_a_task_asks_for_reads_as_a_sentence(verdict: Exception, sentence: str):
    assert str(verdict) == sentence


@pytest.mark.parametrize("error", [ValueError(), Cancel()])
def test_the_exception_that_ends_a_task_is_kept_for_receivers(error: Exception):
    assert after(error, tried_out=True).exception is error
