"""What a task may be called with: what comes out equals what went in, or it is refused by name."""

import enum
import math
import pathlib
import uuid
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from django_locqueue.policies.payload import MAX_DEPTH, call_of, dump, dump_call, load_call


class Colour(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    HIGH = 1


class Text(str):
    pass


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


circle: list[Any] = []
circle.append(circle)

anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters()), inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(anything, max_size=3), st.dictionaries(st.text(st.characters()), anything, max_size=3))
def test_what_comes_out_equals_what_went_in(args: list[Any], kwargs: dict[str, Any]):
    assert load_call(dump_call(args, kwargs)) == (args, kwargs)


@given(anything)
def test_what_is_stored_is_ascii(value: Any):
    assert dump(value).isascii()
    assert "\0" not in dump(value)


def test_the_stored_form_is_compact_and_keeps_the_order_of_keys():
    assert dump_call([1, "é"], {"b": None, "a": {}}) == '{"args":[1,"\\u00e9"],"kwargs":{"b":null,"a":{}}}'


@pytest.mark.parametrize(
    ("value", "kind", "instead"),
    [
        (datetime(2026, 1, 2, tzinfo=UTC), "datetime.datetime", "value.isoformat()"),
        (date(2026, 1, 2), "datetime.date", "value.isoformat()"),
        (time(1), "datetime.time", "value.isoformat()"),
        (timedelta(1), "datetime.timedelta", "value.total_seconds()"),
        (uuid.UUID(int=1), "uuid.UUID", "str(value)"),
        (Decimal(1), "decimal.Decimal", "str(value)"),
        (b"x", "bytes", "base64"),
        ({1}, "set", "a list"),
        (frozenset(), "frozenset", "a list"),
        ((1, 2), "tuple", "a list"),
        (Colour.RED, "Colour", "a string, number"),
        (Level.HIGH, "Level", "a string, number"),
        (Text("x"), "Text", "a string, number"),
        (pathlib.PurePosixPath("/a"), "pathlib", "a string, number"),
        (object(), "object", "a string, number"),
        (1j, "complex", "a string, number"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_d6_a_type_that_does_not_survive_is_refused_by_name(value: Any, kind: str, instead: str):
    for args, kwargs, name in [
        ([0, value], {}, "args[1]"),
        ([], {"order": value}, "order"),
        ([], {"order": [1, {"k": value}]}, "order[1]['k']"),
    ]:
        with pytest.raises(TypeError) as caught:
            dump_call(args, kwargs)
        assert f"Argument {name} is of type" in str(caught.value)
        assert kind in str(caught.value)
        assert instead in str(caught.value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_does_not_know_is_refused_by_name(value: float):
    with pytest.raises(ValueError, match=r"Argument share\[0\] is (nan|inf|-inf), which JSON cannot hold"):
        dump_call([], {"share": [value]})


@pytest.mark.parametrize("key", [1, None, True, 1.5, (1,), Text("x")])
def test_a_key_that_is_not_text_is_refused_by_name(key: Any):
    with pytest.raises(TypeError, match=r"Argument args\[0\] has the key .* JSON keys are strings"):
        dump_call([{key: 1}], {})


@pytest.mark.parametrize("value", [nested(MAX_DEPTH + 1), nested(500), circle], ids=["101", "500", "a circle"])
def test_what_is_nested_too_deep_is_refused_by_name(value: Any):
    with pytest.raises(ValueError, match=rf"Argument tree(\[0\])+ is nested deeper than {MAX_DEPTH} levels"):
        dump_call([], {"tree": value})


def test_the_name_of_a_positional_argument_is_asked_for_only_when_it_is_refused():
    asked = []

    def name_of(position: int) -> str:
        asked.append(position)
        return "order"

    dump_call([1, [2], {}], {}, name_of)
    assert asked == []
    with pytest.raises(TypeError, match=r"^Argument order\[0\] is of type set"):
        dump_call([1, [{2}]], {}, name_of)
    assert asked == [1]


def test_sixty_levels_are_not_too_deep():
    assert load_call(dump_call([nested(60)], {})) == ([nested(60)], {})


def test_a_number_of_more_digits_than_python_reads_is_refused_by_name():
    with pytest.raises(ValueError, match=r"Argument args\[0\] .*digits"):
        dump_call([10**5000], {})


@pytest.mark.parametrize(
    "stored", [None, 1, [], {}, {"args": []}, {"args": {}, "kwargs": {}}, {"args": [], "kwargs": []}, "x"], ids=repr
)
def test_any_other_stored_form_is_refused(stored: Any):
    with pytest.raises(ValueError, match="the stored call must be"):
        call_of(stored)
