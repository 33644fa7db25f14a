"""What goes in comes out, on every database."""

import json
from typing import Any

import pytest

from django_locqueue.models import Task
from django_locqueue.policies import payload
from django_locqueue.policies.outcome import Kind
from django_locqueue.store import Store
from django_locqueue.store.serve import Owner
from tests.store.rows import claim_one, enqueue, outcome, row, running


def nested(depth: int) -> Any:
    value: Any = "bottom"
    for level in range(depth):
        value = [value] if level % 2 else {"deeper": value}
    return value


VALUES = {
    "NUL in a value": {"a": "x\0y"},
    "NUL in a key": {"k\0": 1},
    "NUL in a list of lists": [["\0"]],
    "a lone high surrogate": "\ud835",
    "a lone low surrogate": "\udcff",
    "a surrogate in a key": {"\ud835": None},
    "an emoji": "🙂👩‍👩‍👧‍👦",
    "Chinese": "任务队列",
    "a large number": 2**70,
    "a large negative number": -(2**70),
    "floats": [0.1, 1e308, -0.0, 5e-324],
    "60 levels": nested(60),
    "the order of keys": {"b": 1, "a": 2, "": 3},
    "quotes and backslashes": "'\"\\%s%%\\u0000\n\r\t",
    "nothing": [None, [], {}, ""],
    "truth": [True, False, 1, 0],
    "a megabyte": "é" * 200_000,
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
def test_d1_d2_arguments_come_out_as_they_went_in(store: Store, owner: Owner, value: Any):
    text = payload.dump_call([value], {"name": value})
    enqueue(store, args_kwargs=text)
    task = claim_one(store, owner)
    assert task.args_kwargs == text
    assert payload.load_call(task.args_kwargs) == ([value], {"name": value})
    assert Task.objects.get().args_kwargs == {"args": [value], "kwargs": {"name": value}}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
def test_d1_d2_a_return_value_comes_out_as_it_went_in(store: Store, owner: Owner, value: Any):
    task = running(store, owner)
    store.ack([(task, outcome(Kind.SUCCESSFUL, return_value=payload.dump(value)))])
    assert json.dumps(row(task.id)["return_value"]) == json.dumps(value)


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
def test_metadata_comes_out_as_it_went_in(store: Store, owner: Owner, value: Any):
    enqueue(store, metadata=payload.dump({"it": value}))
    assert json.loads(claim_one(store, owner).metadata or "") == {"it": value}
    assert Task.objects.get().metadata == {"it": value}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
def test_the_field_itself_keeps_a_value(db: None, value: Any):
    pk = Task.objects.create(task_path="a.b", args_kwargs=value).pk
    assert json.dumps(Task.objects.get(pk=pk).args_kwargs) == json.dumps(value)


@pytest.mark.parametrize("text", ["", "no json", "{", "[" * 100_000, "9" * 10_000, '"\\ud835"'], ids=lambda t: t[:9])
def test_text_that_was_edited_by_hand_can_still_be_read(db: None, text: str):
    from django.db.models import TextField, Value

    pk = Task.objects.create(task_path="a.b", args_kwargs={}).pk
    Task.objects.filter(pk=pk).update(args_kwargs=Value(text, TextField()))
    assert isinstance(Task.objects.get(pk=pk).args_kwargs, str)
