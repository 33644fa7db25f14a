"""Services that limit, fail or refuse: who waits, who is asked instead, and what a lookup comes to."""

import datetime

import pytest
from django.utils import timezone

from django_locqueue.accesslog import breaker
from django_locqueue.accesslog.geo.errors import ProviderDenied, QuotaExhausted, RateLimited, Transient
from django_locqueue.accesslog.geo.provider import Answers
from django_locqueue.accesslog.models import Location, ProviderState
from django_locqueue.models import Limit, Task
from django_locqueue.testing import run_tasks
from tests.accesslog.lookups import FILE, NANJING, SYDNEY, let_it_pass, located, place, waiting_calls
from tests.accesslog.services import a_place, calls, say, told

pytestmark = pytest.mark.django_db


def comes_again_in(seconds):
    """Whether the waiting task comes again in so many seconds, or a tenth later; a slow machine has a minute."""
    [task] = waiting_calls()
    return seconds - 60 <= (task.run_after - timezone.now()).total_seconds() <= seconds * 1.1


def is_paused_for(seconds):
    """Whether nothing starts under the service's rate for so many seconds; a slow machine has a minute."""
    until = Limit.objects.get(key__startswith="r:").paused_until
    return until is not None and seconds - 60 <= (until - timezone.now()).total_seconds() <= seconds


def let_it_pass_for_tasks():
    """The service's rate lets the next start; its breaker is still open."""
    Limit.objects.update(paused_until=None, full_at=None, next_at=None)


# Limits


def test_i11_a_limit_answer_pauses_the_service_and_burns_no_attempt(chain):
    chain(told())
    say(RateLimited("429", 3000), a_place())
    assert located(NANJING) == ["snoozed"]
    assert is_paused_for(3000)
    assert comes_again_in(3000)
    located(SYDNEY)
    assert len(calls()) == 1
    for _ in range(2):
        let_it_pass()
        run_tasks()
    assert set(Location.objects.values_list("state", flat=True)) == {"located"}
    assert not ProviderState.objects.exists()


def test_i11_any_number_of_limit_answers_burns_no_attempt(chain):
    chain(told(), MAX_ATTEMPTS=2)
    say(*[RateLimited("429", 30)] * 5, a_place())
    located(NANJING)
    for _ in range(5):
        let_it_pass()
        run_tasks()
    assert place().state == "located"


def test_a_limit_answer_without_a_time_means_a_minute(chain):
    chain(told())
    say(RateLimited("429"))
    located(NANJING)
    assert is_paused_for(60)


def test_a_service_that_asks_to_be_left_alone_after_an_answer_is(chain):
    chain(told())
    say(Answers({}, pause=700))
    located(NANJING)
    assert is_paused_for(700)


def test_a_used_up_quota_is_waited_for_where_nobody_else_could_know(chain):
    chain(told())
    say(QuotaExhausted("10003", 7200))
    assert located(NANJING) == ["snoozed"]
    assert comes_again_in(7200)
    assert place().state == "pending"
    assert ProviderState.objects.get().trouble == "exhausted"


def test_while_a_quota_is_used_up_nobody_comes_to_see(chain):
    chain(told())
    say(QuotaExhausted("10003", 7200))
    located(NANJING)
    located(SYDNEY)
    assert len(calls()) == 1
    assert is_paused_for(7200)


def test_while_a_quota_is_used_up_those_behind_are_asked(chain):
    chain(told(), FILE)
    say(QuotaExhausted("10003", 7200))
    assert located(NANJING) == ["successful"]
    assert place().city == "苏州"
    located(SYDNEY)
    let_it_pass_for_tasks()
    run_tasks()
    assert len(calls()) == 1
    assert place(SYDNEY).state == "pending"


# Faults


def test_i11_a_fault_is_tried_again_by_the_queue(chain):
    chain(told())
    say(Transient("garbage"), Transient("timeout"), a_place())
    assert located(NANJING) == ["retried"]
    for _ in range(2):
        let_it_pass()
        run_tasks()
    assert place().state == "located"
    assert ProviderState.objects.get().failures == 0


def test_after_the_last_attempt_those_behind_are_asked(chain):
    chain(told(), FILE, MAX_ATTEMPTS=2)
    say(Transient("timeout"))
    located(NANJING)
    let_it_pass()
    assert [run.outcome for run in run_tasks()] == ["successful"]
    assert (place().city, place().provider) == ("苏州", "dummy")


def test_after_the_last_attempt_the_task_fails_where_nobody_behind_knows(chain):
    chain(told(), MAX_ATTEMPTS=2)
    say(Transient("the service is away"))
    located(NANJING)
    let_it_pass()
    run_tasks()
    assert place().state == "failed"
    assert Task.objects.failed().get().error_message == "the service is away"


def test_a_place_that_is_known_stays_when_the_service_fails(chain):
    chain(told(), MAX_ATTEMPTS=1)
    Location.objects.create(prefix=NANJING, state="located", city="南京", provider="told")
    say(Transient("timeout"))
    located(NANJING)
    assert (place().state, place().city) == ("located", "南京")


def test_i11_of_a_service_that_is_down_only_a_few_calls_find_out(chain, monkeypatch):
    monkeypatch.setattr(breaker, "open_seconds", lambda failures: 3600.0 if failures >= breaker.FAILURES else 0.0)
    chain(told(), MAX_ATTEMPTS=100)
    say(Transient("down"))
    located(*(f"49.65.{n}.0/24" for n in range(20)))
    for _ in range(20):
        Task.objects.scheduled().update(run_after=timezone.now() - datetime.timedelta(seconds=5))
        let_it_pass_for_tasks()
        run_tasks()
    assert len(calls()) == 5
    assert ProviderState.objects.get().trouble == "failing"


def test_i11_when_the_time_is_over_one_call_finds_out_whether_it_is_well(chain):
    chain(told(), MAX_ATTEMPTS=100)
    ProviderState.objects.create(name="told", failures=5, trouble="failing", changed_at=timezone.now())
    say(Transient("down"), a_place())
    located(NANJING, SYDNEY)
    assert len(calls()) == 1
    for _ in range(3):
        let_it_pass()
        run_tasks()
    assert len(calls()) == 3
    assert ProviderState.objects.get().failures == 0


def test_who_is_denied_asks_no_more_and_the_lookup_has_failed(chain, caplog):
    chain(told())
    say(ProviderDenied("bad key"))
    assert located(NANJING) == ["successful"]
    located(SYDNEY)
    let_it_pass_for_tasks()
    run_tasks()
    assert len(calls()) == 1
    assert set(Location.objects.values_list("state", flat=True)) == {"failed"}
    assert "(denied): bad key" in caplog.text


def test_who_is_denied_leaves_it_to_those_behind(chain):
    chain(told(), FILE)
    say(ProviderDenied("bad key"))
    located(NANJING)
    assert place().city == "苏州"


def test_a_mistake_in_a_projects_own_provider_fails_its_task_alone(chain):
    chain(told(), MAX_ATTEMPTS=1)
    say(ZeroDivisionError("a bug"))
    assert located(NANJING) == ["failed"]
    assert place().state == "pending"
