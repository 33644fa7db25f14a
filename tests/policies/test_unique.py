"""What makes two calls the same, decided without a database."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from django_locqueue.policies import payload
from django_locqueue.policies.key_template import fitted
from django_locqueue.policies.unique import Unique, distinct, identity, rule_for


def sync(shop_id, item_ids: list[int], force=False):
    pass


def mail(address, *, lines: "list[str]"):
    pass


def ship(order_id, parcels):
    pass


def unclear(one, two):
    pass


def tally(*item_ids):
    pass


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"until": "sent"}, "until must be"),
        ({"until": "window"}, "until must be"),
        ({"on_conflict": "ignore"}, "on_conflict must be one of skip, raise, replace, debounce, merge"),
        ({"seconds": 0}, "seconds must be"),
        ({"seconds": -1}, "seconds must be"),
        ({"seconds": True}, "seconds must be"),
        ({"seconds": "60"}, "seconds must be"),
        ({"seconds": float("nan")}, "seconds must be"),
        ({"seconds": float("inf")}, "seconds must be"),
        ({"seconds": 60, "until": "finished"}, "not both"),
        ({"items": "ids"}, "no meaning"),
        ({"unique_items": "ids", "until": "finished"}, "unique_items"),
        ({"unique_items": "ids", "seconds": 5}, "unique_items"),
        ({"unique_items": "ids", "on_conflict": "raise"}, "unique_items"),
    ],
)
def test_what_does_not_fit_together_is_refused_with_the_reason(options, problem):
    with pytest.raises(ValueError, match=problem):
        Unique("k", **options)


@pytest.mark.parametrize(
    ("options", "function", "problem"),
    [
        ({"key": "{order}"}, ship, "names 'order', which is no argument of ship"),
        ({"key": "k", "unique_items": "ids"}, sync, "unique_items names 'ids'.* It has: shop_id, item_ids, force"),
        ({"key": "k", "unique_items": "item_ids"}, tally, "unique_items names 'item_ids'"),
        ({"key": "k", "on_conflict": "merge", "items": "ids"}, sync, "items names 'ids'"),
        ({"key": "k", "on_conflict": "merge"}, unclear, "does not know which argument of unclear.* is the list"),
    ],
)
def test_what_the_function_has_not_is_refused_with_the_reason(options, function, problem):
    with pytest.raises(ValueError, match=problem):
        rule_for(Unique(**options), function, takes_context=False)


@pytest.mark.parametrize(
    ("function", "key", "name", "position"),
    [(sync, "all", "item_ids", 1), (mail, "{address}", "lines", None), (ship, "{order_id}", "parcels", 1)],
    ids=["declared", "declared as text", "the one beside the key"],
)
def test_the_list_that_is_merged_is_found_where_it_is_plain(function, key, name, position):
    assert rule_for(Unique(key, on_conflict="merge"), function, takes_context=False).items == (name, position)


def test_the_context_takes_no_place_among_the_arguments():
    rule = rule_for(Unique("{item_ids}", on_conflict="merge", items="item_ids"), sync, takes_context=True)
    assert rule.items == ("item_ids", 0)


@pytest.mark.parametrize(
    ("options", "held_until"), [({}, "started"), ({"until": "finished"}, "finished"), ({"seconds": 5}, "window")]
)
def test_a_key_is_held_until_the_start_the_end_or_for_seconds(options, held_until):
    assert Unique("k", **options).held_until == held_until


MERGE = rule_for(Unique("{shop_id}", on_conflict="merge"), sync, takes_context=False).items


def call(*args, **kwargs):
    return payload.dump_call(args, kwargs)


@pytest.mark.parametrize(
    ("held", "comes", "both"),
    [
        (call(1, [1, 2]), call(1, [2, 3]), call(1, [1, 2, 3])),
        (call(1, [1]), call(shop_id=1, item_ids=[2]), call(1, [1, 2])),
        (call(1, item_ids=[1]), call(1, [2], True), call(1, item_ids=[1, 2])),
        (call(1, []), call(1, [3, 3]), call(1, [3])),
        (call(1, [1, True, "1", 1.0]), call(1, [True, 1, None]), call(1, [1, True, "1", 1.0, None])),
        (call(1, [{"a": 1, "b": 2}]), call(1, [{"b": 2, "a": 1}]), call(1, [{"a": 1, "b": 2}])),
    ],
)
def test_merging_adds_the_items_that_are_not_there(held, comes, both):
    assert MERGE.merged(json.loads(held), comes) == json.loads(both)


@pytest.mark.parametrize("held", ["not a call", {"args": [1, None], "kwargs": {}}, {"args": [1], "kwargs": {}}, None])
def test_a_call_without_a_list_cannot_be_merged_into(held):
    assert MERGE.merged(held, call(1, [1])) is None


@pytest.mark.parametrize("arguments", [call(1, None), call(1), call(1, "ab"), call(1, item_ids={"a": 1})])
def test_an_argument_that_is_no_list_is_told_by_name(arguments):
    with pytest.raises(TypeError, match="Argument item_ids must be a list"):
        MERGE.list_in(*payload.load_call(arguments))


items = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=3,
)


@given(st.lists(items, max_size=6), st.lists(st.lists(items, max_size=6), max_size=4))
def test_merging_loses_and_doubles_no_item(first, more):
    held = {"args": [1, first], "kwargs": {}}
    for each in more:
        merged = MERGE.merged(held, payload.dump_call([1, each], {}))
        assert merged is not None
        held = json.loads(json.dumps(merged))
    [_, result] = held["args"]
    assert result[: len(first)] == first
    assert set(distinct(result)) == set(distinct(first)).union(*map(distinct, more))
    added = [identity(item) for item in result[len(first) :]]
    assert len(added) == len(set(added))
    assert set(added).isdisjoint(distinct(first))


@given(st.text(max_size=40), st.text(max_size=40))
def test_keys_that_differ_stay_apart_and_can_be_stored(one, two):
    for key in (one, two):
        stored = fitted(key, 30)
        assert len(stored) <= 30
        assert "\x00" not in stored
        stored.encode("utf-8")
    assert (fitted(one, 30) == fitted(two, 30)) == (one == two)
