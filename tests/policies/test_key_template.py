"""Keys made of a call's arguments."""

import pytest

from django_locqueue.policies.key_template import KeyTemplate, fitted
from django_locqueue.policies.terms import USUAL, Terms, load_terms


def ship(order_id, shop="main", *, fast=False):
    pass


@pytest.mark.parametrize(
    ("args", "kwargs", "key"),
    [
        ([7], {}, "7-main-False"),
        ([], {"order_id": 7, "shop": "b"}, "7-b-False"),
        ([7, "b"], {"fast": True}, "7-b-True"),
    ],
)
def test_a_key_is_the_same_however_the_arguments_are_passed(args, kwargs, key):
    assert KeyTemplate("{order_id}-{shop}-{fast}", ship).render(args, kwargs) == key


def test_a_key_without_names_is_the_same_for_all_calls():
    assert KeyTemplate("all {{orders}}", ship).render([1], {}) == "all {orders}"


@pytest.mark.parametrize(
    "text", ["{order}", "{}", "{0}", "{order_id.x}", "{order_id!r}", "{order_id:>5}", "{order_id", "", None]
)
def test_a_template_that_names_no_argument_is_refused(text):
    with pytest.raises(ValueError, match="key"):
        KeyTemplate(text, ship)


def test_the_context_is_no_argument():
    with pytest.raises(ValueError, match="It has: shop, fast"):
        KeyTemplate("{order_id}", ship, takes_context=True)


def test_arguments_that_do_not_fit_are_a_type_error():
    with pytest.raises(TypeError):
        KeyTemplate("{order_id}", ship).render([], {})


def test_of_a_chunk_each_call_says_by_itself_what_it_has():
    template = KeyTemplate("{0}-{shop}", None)
    assert template.render([7, 8], {"shop": "b"}) == "7-b"
    for args, kwargs in (([], {"shop": "b"}), ([7], {})):
        with pytest.raises(TypeError, match="names an argument that this call does not pass in that way"):
            template.render(args, kwargs)


@pytest.mark.parametrize("text", ["{}", "{order.x}", "{0[1]}", "{0!r}", "{order:>5}"])
def test_and_its_template_is_checked_as_far_as_can_be(text):
    with pytest.raises(ValueError, match="names"):
        KeyTemplate(text, None)


def test_keys_that_are_too_long_stay_apart():
    one, two = fitted("x" * 300 + "1", 255), fitted("x" * 300 + "2", 255)
    assert len(one) == len(two) == 255
    assert one != two
    assert fitted("short", 255) == "short"


def test_terms_travel_as_json_of_what_is_not_as_usual():
    terms = Terms(concurrency=1, expires=3600)
    assert terms.dump() == '{"concurrency":1,"expires":3600}'
    assert load_terms(terms.dump()) == terms
    assert USUAL.dump() is None
    assert load_terms(None) is USUAL


def test_terms_of_a_newer_version_are_read_as_far_as_they_are_known():
    assert load_terms('{"concurrency":2,"colour":"red"}') == Terms(concurrency=2)
