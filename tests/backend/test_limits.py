"""What a definition may say of limits, and what each call is stored with."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from django_locqueue import compat, task
from django_locqueue.models import Task
from django_locqueue.policies.terms import load_terms
from tests import limited_tasks
from tests.running import row

pytestmark = pytest.mark.django_db


def work(shop_id, number=0):
    pass


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"rate_limit": "fast"}, 'rate_limit must be starts per time, such as "10/s"'),
        ({"rate_limit": 10}, "rate_limit must be starts per time"),
        ({"rate_limit": "0/s"}, "rate_limit must allow 1 to"),
        ({"rate_key": "amap"}, "rate_key has a meaning only with rate_limit"),
        ({"rate_limit": "1/s", "rate_key": "{shop}"}, "rate_key '{shop}' names 'shop', which is no argument of work()"),
        ({"rate_limit": "1/s", "rate_key": ""}, "rate_key must be a text"),
        ({"rate_limit": ["1/s"]}, "rate_limit must be starts per time"),
        ({"concurrency": 0}, "concurrency must be a whole number from 1 to 32,767, got 0"),
        ({"concurrency": True}, "concurrency must be a whole number"),
        ({"concurrency": 1.5}, "concurrency must be a whole number"),
        ({"concurrency_key": "shop"}, "concurrency_key has a meaning only with concurrency=1"),
        ({"concurrency": 1, "concurrency_key": "{0}"}, "names '0', which is no argument"),
        ({"concurrency": 1, "concurrency_key": "shop-{"}, "concurrency_key 'shop-{'"),
    ],
)
def test_what_cannot_be_meant_is_refused_when_the_definition_is_made(options, reason):
    with pytest.raises(compat.InvalidTask) as refused:
        task(**options)(work)
    assert reason in str(refused.value)


def with_context(context, shop_id):
    pass


def test_a_key_cannot_name_the_context():
    with pytest.raises(compat.InvalidTask, match="names 'context'"):
        task(takes_context=True, concurrency=1, concurrency_key="{context}")(with_context)


def test_a_limited_task_waits_for_its_turn():
    stored = row(limited_tasks.in_order.enqueue(7, number=1))
    assert (stored.state, stored.limit_key) == ("blocked", "c:shop-7")
    assert load_terms(stored.terms).concurrency == 1


def test_a_rate_travels_with_its_numbers():
    stored = row(limited_tasks.steady.enqueue("cn", 1))
    terms = load_terms(stored.terms)
    assert stored.limit_key == "r:stub-cn"
    assert (terms.rate_key, terms.rate_limit, terms.rate_seconds) == ("stub-cn", 20, 1.0)


def test_a_key_takes_an_argument_however_it_is_passed():
    for result in (limited_tasks.in_order.enqueue(7, 1), limited_tasks.in_order.enqueue(number=1, shop_id=7)):
        assert row(result).limit_key == "c:shop-7"


def test_without_a_key_the_limit_is_the_definitions_own():
    assert row(limited_tasks.hourly.enqueue(1)).limit_key == "r:tests.limited_tasks.hourly"


def test_a_task_under_both_waits_under_its_number_and_knows_its_rate():
    stored = row(limited_tasks.in_order_async.enqueue(1))
    assert stored.limit_key == "c:tests.limited_tasks.in_order_async"
    assert load_terms(stored.terms).rate_key == "tests.limited_tasks.in_order_async"


@pytest.mark.parametrize("shop", ["x" * 1000, "\x00", "\udc80", "店", ""])
def test_a_key_of_any_text_is_stored(shop):
    stored = row(limited_tasks.in_order.enqueue(shop, 1))
    assert stored.limit_key.startswith("c:shop-")
    assert len(stored.limit_key) <= 255


def test_long_keys_that_differ_at_their_end_are_two():
    first, second = (row(limited_tasks.in_order.enqueue("x" * 1000 + end, 1)) for end in "ab")
    assert first.limit_key != second.limit_key


def test_arguments_that_do_not_fit_the_function_are_refused_at_the_call():
    with pytest.raises(TypeError):
        limited_tasks.in_order.enqueue()
    assert not Task.objects.exists()


def test_many_calls_are_stored_with_the_key_of_each():
    limited_tasks.in_order.enqueue_many([((shop, 1), {}) for shop in (1, 2, 1)])
    assert list(Task.objects.order_by("id").values_list("limit_key", flat=True)) == ["c:shop-1", "c:shop-2", "c:shop-1"]


def test_a_limited_enqueue_is_one_statement():
    with CaptureQueriesContext(connection) as queries:
        limited_tasks.hourly.enqueue(1)
    inserts = [query for query in queries if "INSERT" in query["sql"]]
    assert len(inserts) == 1
