"""What becomes of the networks that a service is asked for: the calls, the waits, and who is asked instead."""

import datetime
from ipaddress import ip_address

import pytest
from django.utils import timezone

from django_locqueue import QueueFull
from django_locqueue.accesslog import asking, breaker
from django_locqueue.accesslog.asking import definition
from django_locqueue.accesslog.geo.errors import ProviderDenied, QuotaExhausted, RateLimited, Transient
from django_locqueue.accesslog.geo.provider import Answers
from django_locqueue.accesslog.locating import locate
from django_locqueue.accesslog.models import Location, ProviderState
from django_locqueue.accesslog.networks import request_locations
from django_locqueue.accesslog.privacy.pseudonym import pseudonym
from django_locqueue.definition import resolve
from django_locqueue.exceptions import UnknownTask
from django_locqueue.models import Limit, Task
from django_locqueue.testing import run_tasks
from tests.accesslog import services
from tests.accesslog.analytics.rows import log, logged
from tests.accesslog.services import a_place, told

pytestmark = pytest.mark.django_db

NANJING, SYDNEY = "49.65.250.0/24", "1.1.1.0/24"
FILE = {"provider": "dummy", "places": {NANJING: {"city": "苏州"}}}


@pytest.fixture
def chain(site):
    """Return a function that sets the providers and other keys of ``GEO``, with a queue of our own."""
    site.TASKS = {"default": {"BACKEND": "django_locqueue.backend.LocQueueBackend"}}
    services.asked.clear()
    services.answers.clear()

    def use(*providers, **keys):
        site.LOCQUEUE = {"ACCESS_LOG": {"GEO": {"PROVIDERS": list(providers), "MIN_INTERVAL": 60, **keys}}}

    yield use
    services.answers.clear()


def say(*answers, name="told"):
    services.answers[name] = list(answers)


def calls(name="told"):
    return [addresses for who, addresses in services.asked if who == name]


def located(*prefixes):
    """Locate the networks, as far as that goes now; return what became of the asking tasks."""
    Location.objects.bulk_create([Location(pk=prefix) for prefix in prefixes], ignore_conflicts=True)
    locate.enqueue([*prefixes])
    return [run.outcome for run in run_tasks(delayed=False) if ".ask_" in run.task_path]


def place(prefix=NANJING):
    return Location.objects.get(pk=prefix)


def waiting():
    """Return the tasks that wait to ask."""
    return list(Task.objects.pending().filter(task_path__contains=".ask_"))


def comes_again_in(seconds):
    """Whether the waiting task comes again in so many seconds, or a tenth later; a slow machine has a minute."""
    [task] = waiting()
    return seconds - 60 <= (task.run_after - timezone.now()).total_seconds() <= seconds * 1.1


def is_paused_for(seconds):
    """Whether nothing starts under the service's rate for so many seconds; a slow machine has a minute."""
    until = Limit.objects.get(key__startswith="r:").paused_until
    return until is not None and seconds - 60 <= (until - timezone.now()).total_seconds() <= seconds


def let_it_pass():
    """Put the waiting tasks, the pause of the rate and the breaker into the past."""
    past = timezone.now() - datetime.timedelta(seconds=5)
    Task.objects.pending().update(run_after=past)
    Limit.objects.update(paused_until=None, full_at=None, next_at=None)
    ProviderState.objects.filter(open_until__isnull=False).update(open_until=past)


# The task


def test_each_service_has_a_task_of_its_name(chain):
    chain(told("amap"), told("ip-api"))
    assert resolve("django_locqueue.accesslog.asking.ask_ip_api").name == "ask_ip_api"
    assert definition("amap").module_path == "django_locqueue.accesslog.asking.ask_amap"


def test_services_whose_names_are_alike_have_tasks_of_their_own(chain):
    chain(told("ip-api"), told("ip.api"), told("ip_api"))
    names = {definition(name).name for name in ("ip-api", "ip.api", "ip_api")}
    assert len(names) == 3
    assert all(name.isidentifier() for name in names)


def test_the_task_of_a_service_that_is_no_longer_there_is_unknown(chain):
    chain(told("amap"))
    with pytest.raises(UnknownTask):
        resolve("django_locqueue.accesslog.asking.ask_baidu")


def test_nothing_else_in_the_module_is_made_up():
    with pytest.raises(AttributeError):
        asking.no_such_thing  # noqa: B018


def test_the_task_keeps_to_the_gap_of_the_settings_or_of_the_service(chain):
    chain(told("amap"), told("ip-api", interval=4.0), MIN_INTERVAL=0.1)
    assert definition("amap").rate_limit == "5/1s"
    assert definition("ip-api").rate_limit == "14/60s"


def test_a_service_that_takes_many_addresses_is_asked_for_many_in_one_call(chain):
    chain(told(batch_size=100))
    say(a_place())
    located(*(f"49.65.{n}.0/24" for n in range(150)))
    assert [len(addresses) for addresses in calls()] == [100]  # the rest waits for its turn under the rate
    let_it_pass()
    run_tasks()
    assert [len(addresses) for addresses in calls()] == [100, 50]
    assert Location.objects.filter(state="located").count() == 150


def test_a_network_is_asked_for_once_while_its_task_is_there(chain):
    chain(told())
    say(RateLimited("too often", 30))
    located(NANJING)
    located(NANJING)
    assert len(calls()) == 1
    assert len(waiting()) == 1


@pytest.mark.parametrize(("answer", "state"), [(a_place(), "located"), (RateLimited("429", 30), "pending")])
def test_a_projects_tests_ask_at_once(chain, settings, answer, state):
    settings.TASKS = {"default": {"BACKEND": "django_locqueue.testing.ImmediateBackend"}}
    chain(told())
    say(answer)
    Location.objects.create(pk=NANJING)
    locate.enqueue([NANJING])
    assert place().state == state
    assert len(calls()) == 1


# What is sent


def test_a_service_gets_the_first_address_of_the_network(chain):
    chain(told())
    log(logged(ip="49.65.250.135"))
    located(NANJING)
    assert calls() == [["49.65.250.0"]]


def test_where_that_is_wanted_it_gets_a_visitors_address(chain):
    chain(told(), SEND_TRUNCATED=False)
    log(logged(ip="49.65.250.135"))
    located(NANJING, SYDNEY)
    let_it_pass()
    run_tasks()
    assert sorted(calls()) == [["1.1.1.0"], ["49.65.250.135"]]


def test_what_stands_for_an_address_is_sent_to_nobody(chain):
    chain(told(), SEND_TRUNCATED=False)
    log(logged(ip=pseudonym("49.65.250.135", b"k" * 32), location_id=NANJING))
    located(NANJING)
    assert calls() == [["49.65.250.0"]]


# What is answered


def test_an_answer_is_written_and_leaves_no_task(chain):
    chain(told())
    say(a_place(district="玄武区", adcode="320102", latitude=32.05, longitude=118.79))
    assert located(NANJING) == ["successful"]
    found = place()
    assert (found.state, found.provider, found.precision, found.adcode) == ("located", "told", "district", "320102")
    assert (found.latitude, found.longitude) == (32.05, 118.79)
    assert not Task.objects.filter(task_path__contains=".ask_").exists()


def test_an_answer_of_excess_is_stored_cut(chain):
    chain(told())
    say(a_place(city="x" * 1000 + "\x00"))
    assert located(NANJING) == ["successful"]
    assert len(place().city) == 64


def test_i10_an_address_that_the_service_does_not_know_is_unknown_and_not_asked_for_again(chain):
    chain(told())
    assert located(NANJING) == ["successful"]
    assert place().state == "unknown"
    assert len(calls()) == 1


def test_what_the_service_does_not_know_those_behind_it_are_asked_for(chain):
    chain(told("amap"), told("baidu"), FILE)
    located(NANJING, SYDNEY)
    for _ in range(3):
        let_it_pass()
        run_tasks()
    assert place().city == "苏州"
    assert place(SYDNEY).state == "unknown"
    assert (len(calls("amap")), len(calls("baidu"))) == (2, 2)


def test_what_is_left_out_of_an_answer_is_asked_for_again(chain):
    chain(told())
    say(Answers({}), a_place())
    assert located(NANJING) == ["retried"]
    let_it_pass()
    run_tasks()
    assert place().state == "located"


def test_where_the_queue_is_full_an_answer_is_kept_and_the_rest_waits_for_the_next_visit(chain, monkeypatch):
    def room_for_amap_only(service, define=asking.definition):
        if service == "baidu":
            raise QueueFull("default", 1, 1)
        return define(service)

    monkeypatch.setattr(asking, "definition", room_for_amap_only)
    chain(told("amap", batch_size=2), told("baidu"))
    say(Answers({ip_address("49.65.250.0"): a_place("amap"), ip_address("1.1.1.0"): None}), name="amap")
    assert located(NANJING, SYDNEY) == ["successful", "successful"]
    assert (place().state, place(SYDNEY).state) == ("located", "pending")
    assert request_locations([NANJING, SYDNEY], timezone.now()) == [SYDNEY]


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


def let_it_pass_for_tasks():
    """The service's rate lets the next start; its breaker is still open."""
    Limit.objects.update(paused_until=None, full_at=None, next_at=None)


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
