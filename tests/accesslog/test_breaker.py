"""A location service that fails is left alone for a while, by all workers."""

import datetime

import pytest
from django.utils import timezone

from django_locqueue.accesslog.breaker import Breaker, open_seconds
from django_locqueue.accesslog.models import ProviderState

pytestmark = pytest.mark.django_db


def failed(times):
    for _ in range(times):
        Breaker("amap").fail("no answer")
    return Breaker("amap")


def opened_for(breaker):
    """Return for how many seconds it was opened."""
    return (breaker.state.open_until - breaker.state.changed_at).total_seconds()


def over():
    """Let the time pass that it is open."""
    ProviderState.objects.update(open_until=timezone.now() - datetime.timedelta(seconds=1))


def test_a_service_that_works_is_asked_and_leaves_no_row(django_assert_num_queries):
    with django_assert_num_queries(1):
        breaker = Breaker("amap")
        assert breaker.seconds == 0
        breaker.succeed()
    assert not ProviderState.objects.exists()


def test_four_failures_in_a_row_are_borne():
    assert failed(4).seconds == 0


def test_the_fifth_failure_in_a_row_opens_it_for_half_a_minute():
    assert opened_for(failed(5)) == 30
    assert 0 < Breaker("amap").seconds <= 30


def test_a_success_between_begins_the_count_anew():
    failed(4).succeed()
    assert failed(4).seconds == 0


def test_one_failure_after_that_opens_it_again_for_twice_as_long():
    failed(5)
    over()
    assert Breaker("amap").seconds == 0
    assert opened_for(failed(1)) == 60


def test_it_is_open_for_a_quarter_of_an_hour_at_most():
    assert [open_seconds(failures) for failures in (4, 5, 6, 9, 10, 11, 10**6)] == [0, 30, 60, 480, 900, 900, 900]


def test_a_success_closes_it():
    failed(5)
    over()
    Breaker("amap").succeed()
    assert ProviderState.objects.values_list("trouble", "reason", "failures", "open_until").get() == ("", "", 0, None)


def test_who_is_denied_stays_away_for_an_hour():
    Breaker("amap").deny("bad key")
    breaker = Breaker("amap")
    assert breaker.is_denied
    assert opened_for(breaker) == 3600


def test_a_quota_is_waited_for():
    Breaker("amap").exhaust("10003", 7200)
    breaker = Breaker("amap")
    assert not breaker.is_denied
    assert opened_for(breaker) == 7200


def test_each_service_has_its_own():
    failed(5)
    assert Breaker("baidu").seconds == 0


def test_what_opened_it_is_told_in_the_log_and_kept(caplog):
    Breaker("amap").deny("bad key")
    assert "amap is not asked for 3600 s (denied): bad key" in caplog.text
    assert ProviderState.objects.get().reason == "bad key"


def test_a_reason_that_is_no_text_for_a_database_is_kept_as_one():
    Breaker("amap").fail("a\x00b" * 200)
    assert len(ProviderState.objects.get().reason) == 200
