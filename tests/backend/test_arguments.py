"""Arguments: what comes out equals what went in, or it is refused before any SQL, by name."""

import datetime as dt
import decimal
import enum
import functools
import os
import pathlib
import uuid

import pytest
from django.contrib.auth.models import Group
from django.db import transaction
from django.utils.functional import lazystr
from django.utils.safestring import mark_safe

from django_locqueue.models import Task
from django_locqueue.policies.signature import check_arguments
from tests import tasks
from tests.running import row, run_one


class Colour(enum.Enum):
    RED = "red"


class Size(enum.IntEnum):
    LARGE = 3


class Word(enum.StrEnum):
    HELLO = "hello"


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


REFUSED = {
    "datetime": dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
    "date": dt.date(2026, 1, 1),
    "time": dt.time(1),
    "timedelta": dt.timedelta(1),
    "uuid": uuid.uuid4(),
    "decimal": decimal.Decimal("1.5"),
    "bytes": b"x",
    "bytearray": bytearray(b"x"),
    "set": {1},
    "frozenset": frozenset(),
    "tuple": (1, 2),
    "enum": Colour.RED,
    "int enum": Size.LARGE,
    "str enum": Word.HELLO,
    "path": pathlib.Path(),
    "model": Group(name="x"),
    "model class": Group,
    "function": os.getcwd,
    "complex": 1j,
    "safe text": mark_safe("x"),
    "lazy text": lazystr("x"),
    "nan": float("nan"),
    "infinity": float("inf"),
    "minus infinity": float("-inf"),
    "int keys": {1: 2},
    "None key": {None: 1},
    "tuple keys": {(1, 2): 3},
    "150 levels": nested(150),
    "a thousand levels": nested(1_000),
    "an int too long to print": 10**5_000,
    "deep inside": {"a": [{"b": object()}]},
}

KEPT = {
    "None": None,
    "true": True,
    "text": "text",
    "empty": "",
    "chinese": "中文",
    "emoji": "🐎",
    "nul": "x\0y",
    "nul in a key": {"k\0": 1},
    "nul inside": [["\0"]],
    "lone high surrogate": "\ud835",
    "lone low surrogate": "\udc00",
    "undecodable file name": os.fsdecode(b"\xff"),
    "large int": 2**70,
    "negative": -(2**63),
    "float": 0.1,
    "smallest float": 5e-324,
    "minus zero": -0.0,
    "a float that looks like an int": 1.0,
    "60 levels": nested(60),
    "order of keys": {"z": 1, "a": 2, "m": 3},
    "escapes": "\\u0000 \\ \" ' % %s {} \n\t\u2028",
    "keys named like ours": {"args": [], "kwargs": {}},
    "long": "x" * 100_000,
}


@pytest.mark.django_db
@pytest.mark.parametrize("value", REFUSED.values(), ids=REFUSED)
def test_what_json_cannot_hold_is_refused_before_any_sql_by_position(value, django_assert_num_queries):
    with django_assert_num_queries(0), pytest.raises((TypeError, ValueError), match=r"args\[1\]"):
        tasks.echo.enqueue("fine", value)


@pytest.mark.django_db
@pytest.mark.parametrize("value", REFUSED.values(), ids=REFUSED)
def test_d6_what_json_cannot_hold_is_refused_before_any_sql_by_name(value, django_assert_num_queries):
    with django_assert_num_queries(0), pytest.raises((TypeError, ValueError), match="customer"):
        tasks.echo.enqueue(customer=value)


@pytest.mark.django_db
def test_a_queryset_is_refused_without_being_read(django_assert_num_queries):
    with django_assert_num_queries(0), pytest.raises(TypeError, match=r"value is .*QuerySet"):
        tasks.echo.enqueue(Group.objects.all())


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("definition", "args", "name"),
    [
        (tasks.add, [{1}], "a"),
        (tasks.add, [1, [{1}]], r"b\[0\]"),
        (tasks.add, [1, 2, {1}], r"args\[2\]"),
        (tasks.total, [1, {1}], r"args\[1\]"),
        (tasks.build_page, [{1}], "number"),
        (tasks.plain, [{1}], "value"),
    ],
    ids=["a parameter", "inside a parameter", "one too many", "*args", "after the context", "django's own decorator"],
)
def test_a_refused_positional_argument_is_told_by_its_name(definition, args, name):
    with pytest.raises(TypeError, match=rf"^Argument {name} is of type set"):
        definition.enqueue(*args)


@pytest.mark.django_db
def test_a_refusal_says_what_to_pass_instead():
    with pytest.raises(TypeError, match=r"isoformat\(\)"):
        tasks.echo.enqueue(dt.date(2026, 1, 1))


@pytest.mark.django_db
def test_a_list_that_holds_itself_is_refused():
    circle = []
    circle.append(circle)
    with pytest.raises(ValueError, match="nested deeper"):
        tasks.echo.enqueue(circle)


@pytest.mark.django_db
@pytest.mark.parametrize("value", KEPT.values(), ids=KEPT)
def test_what_is_accepted_is_stored_unchanged(value):
    result = tasks.echo.enqueue(value)
    found = tasks.echo.get_result(result.id)
    assert repr(found.args) == repr([value])


@pytest.mark.django_db(transaction=True)
def test_d1_d2_what_is_accepted_reaches_the_task_and_comes_back_unchanged():
    result = run_one(tasks.echo.enqueue(list(KEPT.values())))
    assert repr(result.return_value) == repr(list(KEPT.values()))


@pytest.mark.django_db(transaction=True)
def test_a_refused_argument_leaves_the_callers_transaction_usable():
    with transaction.atomic():
        with pytest.raises(TypeError):
            tasks.echo.enqueue(object())
        tasks.echo.enqueue("x\0y")
        Group.objects.create(name="saved")
    assert (Group.objects.count(), Task.objects.count()) == (1, 1)


@pytest.mark.django_db
def test_the_callers_list_can_change_afterwards():
    value = [1]
    result = tasks.echo.enqueue(value)
    value.append(2)
    assert result.args == [[1]]
    assert row(result).args_kwargs["args"] == [[1]]


@pytest.mark.any_vendor
@pytest.mark.django_db
@pytest.mark.parametrize(
    ("definition", "args", "kwargs", "why"),
    [
        (tasks.add, (), {}, "missing a required argument: 'a'"),
        (tasks.add, (1, 2, 3), {}, "too many positional arguments"),
        (tasks.add, (1,), {"c": 2}, "got an unexpected keyword argument 'c'"),
        (tasks.build_page, (), {}, "missing a required argument: 'number'"),
        (tasks.build_page, (1, 2), {}, "too many positional arguments"),
    ],
)
def test_a_call_that_the_function_would_refuse_is_refused_when_it_is_enqueued(definition, args, kwargs, why):
    for enqueue in (definition.enqueue, definition.enqueue_on_commit):
        with pytest.raises(TypeError, match=f"cannot be called so: {why}"):
            enqueue(*args, **kwargs)
    assert not Task.objects.exists()


@pytest.mark.parametrize(("args", "kwargs"), [((1, 2, 3), {}), ((), {"first": 1}), ((1,), {"others": 2})])
def test_a_decorator_that_takes_anything_is_called_with_anything(args, kwargs):
    def takes_two(first, second): ...

    @functools.wraps(takes_two)
    def gives_the_second(*args, **kwargs): ...

    check_arguments(gives_the_second, args, kwargs, takes_context=False)


def test_an_argument_that_must_be_named_is_missed():
    def resize(image, *, width): ...

    check_arguments(resize, (1,), {"width": 2}, takes_context=False)
    with pytest.raises(TypeError, match=r"missing a required .*argument: 'width'"):
        check_arguments(resize, (1,), {}, takes_context=False)
