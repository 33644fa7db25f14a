"""The report of an error: text that fits its columns, whatever the exception does."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from django_locqueue.exceptions import Retry
from django_locqueue.policies.outcome import (
    CLASS_LENGTH,
    MESSAGE_LENGTH,
    TRACEBACK_LENGTH,
    ErrorReport,
    first_line,
    shortened,
)


def raised(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as caught:
        return caught


class StrRaises(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


class StrExits(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


class StrIsNone(Exception):
    def __str__(self) -> str:
        return None  # type: ignore[return-value]


class StrRecurses(Exception):
    def __str__(self) -> str:
        return str(self)


def chain(length: int) -> BaseException:
    error = ValueError("the first")
    for number in range(length):
        following = ValueError(f"number {number}")
        following.__cause__ = error
        error = following
    return error


def circle() -> BaseException:
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one
    return one


def deep_group(depth: int) -> BaseException:
    error: Exception = ValueError("bottom")
    for _ in range(depth):
        error = ExceptionGroup("a level", [error])
    return error


def local() -> BaseException:
    class Local(Exception):
        pass

    return Local("here")


HOSTILE = {
    "whose text raises": StrRaises(),
    "whose text exits": StrExits(),
    "whose text is None": StrIsNone(),
    "whose text recurses": StrRecurses(),
    "20 MB on one line": ValueError("x" * 20_000_000),
    "20 MB of lines": ValueError("x\n" * 10_000_000),
    "2,000 causes": chain(2000),
    "a circle of causes": circle(),
    "a group": ExceptionGroup("several", [ValueError("a"), StrRaises()]),
    "a group of 3,000 levels": deep_group(3000),
    "a class in a function": local(),
    "a class with a long name": type("N" * 400, (Exception,), {})("x"),
    "a class of no module": type("Homeless", (Exception,), {"__module__": None})("x"),
    "a module that is no text": type("Odd", (Exception,), {"__module__": "a\0b\ud835"})("x"),
    "NUL and surrogates": ValueError("a\0b\ud835c"),
    "no text": ValueError(),
    "only line ends": ValueError("\n\r\n"),
    "emoji": ValueError("🙂" * 300),
    "an exit": SystemExit(3),
    "an interrupt": KeyboardInterrupt(),
}


@pytest.mark.parametrize("error", HOSTILE.values(), ids=HOSTILE.keys())
def test_d4_any_exception_becomes_text_that_every_database_stores(error: BaseException):
    report = ErrorReport.of(raised(error))
    assert len(report.class_path) <= CLASS_LENGTH
    assert len(report.message) <= MESSAGE_LENGTH
    assert len(report.traceback) <= TRACEBACK_LENGTH + 100
    for text in (report.class_path, report.message, report.traceback):
        assert "\0" not in text
        text.encode("utf-8")
    assert "\n" not in report.message
    assert report.traceback


def test_a_report_names_the_class_as_it_is_imported():
    assert ErrorReport.of(Retry()).class_path == "django_locqueue.exceptions.Retry"
    assert ErrorReport.of(ValueError()).class_path == "builtins.ValueError"


def test_the_message_is_the_first_line():
    assert first_line(ValueError("one\ntwo")) == "one"


def test_the_traceback_names_the_line_that_raised():
    report = ErrorReport.of(raised(ValueError("no such order")))
    assert report.traceback.startswith("Traceback (most recent call last):")
    assert "in raised" in report.traceback
    assert report.traceback.endswith("ValueError: no such order\n")


def test_a_long_traceback_keeps_both_ends_and_says_what_is_missing():
    report = ErrorReport.of(raised(ValueError("x" * 200_000 + "the end")))
    assert report.traceback.startswith("Traceback")
    assert report.traceback.endswith("the end\n")
    assert "characters left out" in report.traceback


def test_the_causes_are_in_the_traceback():
    assert "the first" in ErrorReport.of(chain(3)).traceback


def test_making_a_report_leaves_the_recursion_limit_alone():
    before = sys.getrecursionlimit()
    ErrorReport.of(deep_group(3000))
    assert sys.getrecursionlimit() == before


@given(st.text(st.characters()), st.integers(1, 50))
def test_d3_shortened_text_fits_and_can_be_stored(text: str, length: int):
    short = shortened(text, length)
    assert len(short) <= length
    short.encode("utf-8")
    assert "\0" not in short


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20))
def test_text_that_fits_is_left_as_it_is(text: str):
    assert shortened(text, 20) == text


def test_text_that_was_cut_says_so():
    assert shortened("abcdef", 4) == "abc…"
