"""What becomes of the networks that a service is asked for: its task, what is sent, and what is answered."""

from ipaddress import ip_address

import pytest
from django.utils import timezone

from django_locqueue import QueueFull
from django_locqueue.accesslog import asking
from django_locqueue.accesslog.asking import definition
from django_locqueue.accesslog.geo.errors import RateLimited
from django_locqueue.accesslog.geo.provider import Answers
from django_locqueue.accesslog.locating import locate
from django_locqueue.accesslog.models import Location
from django_locqueue.accesslog.networks import request_locations
from django_locqueue.accesslog.privacy.pseudonym import pseudonym
from django_locqueue.definition import resolve
from django_locqueue.exceptions import UnknownTask
from django_locqueue.models import Task
from django_locqueue.testing import run_tasks
from tests.accesslog.analytics.rows import log, logged
from tests.accesslog.lookups import FILE, NANJING, SYDNEY, let_it_pass, located, place, waiting_calls
from tests.accesslog.services import a_place, calls, say, told

pytestmark = pytest.mark.django_db

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
    assert len(waiting_calls()) == 1


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
