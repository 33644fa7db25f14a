"""The recorded value: cleaned, cut, and the same after its journey as a task's argument."""

import json
import math
from enum import IntEnum, StrEnum
from http import HTTPStatus

import pytest
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext_lazy
from hypothesis import given
from hypothesis import strategies as st

from django_locqueue.accesslog import hit
from django_locqueue.accesslog.hit import Hit
from tests.accesslog.conftest import a_hit


def test_a_hit_survives_json():
    assert Hit.from_json(json.loads(json.dumps(a_hit().to_json()))) == a_hit()


def test_fields_of_a_newer_version_are_ignored():
    assert Hit.from_json([*a_hit().to_json(), "new"]) == a_hit()


@pytest.mark.parametrize("fields", [None, "text", {}, [], ["too", "short"]])
def test_anything_else_is_refused(fields):
    with pytest.raises(ValueError, match=r"a hit is a list of \d+ fields"):
        Hit.from_json(fields)


def test_text_is_cut_with_a_mark():
    assert hit.text("x" * 600, 5) == "xxxx…"


def test_text_that_fits_is_kept():
    assert hit.text("四个汉字吧", 5) == "四个汉字吧"


def test_nul_and_lone_surrogates_are_replaced():
    assert hit.text("a\x00b\ud800c", 10) == "a\ufffdb\ufffdc"


def test_what_is_no_text_becomes_text():
    assert [hit.text(value, 10) for value in (None, 7, b"x")] == ["", "7", "b'x'"]


@given(st.text(alphabet=st.characters(), max_size=600))
def test_every_text_can_be_encoded(value):
    assert "\x00" not in hit.text(value, 255).encode().decode()


@pytest.mark.parametrize(
    ("value", "number"),
    [("12", 12), (None, None), ("", None), ("abc", None), ("-1", None), ("1" * 30, None), ("９", None)],
)
def test_content_length_is_a_number_or_nothing(value, number):
    assert hit.content_length(value) == number


def test_numbers_are_of_the_exact_type():
    class Odd:
        def __int__(self):
            raise RuntimeError

    values = [HTTPStatus.NOT_FOUND, True, "404", 404.9, None, Odd(), 10**5000, math.inf, math.nan]
    numbers = [hit.number(value, 1000) for value in values]
    assert numbers == [404, 1, 404, 404, 0, 0, 1000, 1000, 0]
    assert {type(number) for number in numbers} == {int}
    assert type(hit.number(7, 1000.0)) is float


class Shout(str):
    __slots__ = ()

    def __str__(self):
        return self


class Name(StrEnum):
    A = "a"


@pytest.mark.parametrize("value", ["a", Shout("a"), SafeString("a"), Name.A, gettext_lazy("a"), mark_safe("a")])
def test_texts_are_of_the_exact_type(value):
    for text in (hit.text(value, 10), hit.exact_text(value), hit.referer(value), hit.user_id(value)):
        assert (type(text), text) == (str, "a")


def test_user_ids_are_of_the_exact_type():
    class Key(IntEnum):
        ONE = 1

    assert type(hit.user_id(Key.ONE)) is int
    assert hit.user_id(2**63) is None


def test_numbers_are_kept_in_their_columns():
    assert [hit.number(n, 100) for n in (5, -1, 1e12, math.inf, math.nan)] == [5, 0, 100, 100, 0]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("https://example.com/a?token=1#x", "https://example.com/a"),
        ("https://me:secret@example.com/a", "https://example.com/a"),
        ("https://example.com/@me", "https://example.com/@me"),
        ("https://me:" + "x" * 900, "https://…"),  # cut before its @
        ("not a page", "not a page"),
        (None, ""),
    ],
)
def test_the_referrer_loses_what_may_be_secret(given, kept):
    assert hit.referer(given) == kept


def test_a_user_id_is_never_cut_into_anothers():
    assert hit.user_id("x" * 65) is None


def test_a_uuid_user_id_becomes_text():
    assert hit.user_id("8c2f") == "8c2f"
    assert hit.user_id(7) == 7
    assert hit.user_id(None) is None


def test_ids_differ():
    assert len({hit.new_id() for _ in range(1000)}) == 1000
