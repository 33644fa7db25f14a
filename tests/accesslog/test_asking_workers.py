"""A service on loopback, and two worker processes that ask it."""

import json

import pytest

from django_locqueue.accesslog.models import Location
from django_locqueue.accesslog.tasks import record_hits
from tests import tasks
from tests.accesslog.conftest import a_hit
from tests.accesslog.stub_api import Reply, StubApi
from tests.processes import wait_until
from tests.running import row

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True), pytest.mark.any_vendor]

GAP_SECONDS = 0.1
NETWORKS = [f"49.65.{n}.0/24" for n in range(20)]
VISITS = 10  # from each
LONG_SECONDS = 120  # on a machine that has much to do
FOUND = Reply({"ok": 1, "city": "南京"})


@pytest.fixture
def workers(run_worker, settings):
    """Return a function that records visits, and starts two workers which ask the service at a URL for the places."""

    def start(url, **keys):
        service = {"provider": "http", "url": f"{url}/{{ip}}", "ok": {"ok": "1"}, "fields": {"city": "city"}}
        chain = {"PROVIDERS": [service], "MIN_INTERVAL": GAP_SECONDS, **keys}
        settings.LOCQUEUE = {**settings.LOCQUEUE, "ACCESS_LOG": {"ENABLED": False, "GEO": chain}}
        env = {"DJANGO_SETTINGS_MODULE": "tests.settings_geo", "TEST_GEO": json.dumps(chain)}
        for visit in range(VISITS):
            hits = [a_hit(id=f"{visit}-{n}", ip=f"49.65.{n}.{visit}") for n in range(len(NETWORKS))]
            record_hits.enqueue([hit.to_json() for hit in hits])
        return [run_worker(env=env) for _ in range(2)]

    return start


def all_located():
    return Location.objects.filter(state="located", city="南京").count() == len(NETWORKS)


def test_i11_the_gap_between_two_calls_holds_over_all_workers(workers):
    with StubApi(FOUND) as service:
        workers(service.url)
        wait_until(all_located, timeout=LONG_SECONDS)
    assert len(service.calls) == len(NETWORKS)
    # Over two gaps: a call that a busy machine notices late shortens the one behind it, and lengthens the one before.
    times = [call.at for call in service.calls]
    assert min(later - earlier for earlier, later in zip(times, times[2:], strict=False)) >= 2 * GAP_SECONDS


def test_i11_whatever_a_service_answers_all_networks_are_located_in_the_end(workers):
    """A limit, then answers that do not come, then garbage, then well; and the site's own tasks are not held up."""
    trouble = [
        Reply({}, status=429, headers={"Retry-After": "1"}),
        Reply({}, never_ends=True),
        Reply(b"<html>"),
        Reply(b"[]"),
    ]
    script = [*trouble]
    with StubApi(lambda call: script.pop(0) if script else FOUND) as service:
        workers(service.url, READ_TIMEOUT=2)
        others = [tasks.add.enqueue(number, 1) for number in range(20)]
        wait_until(lambda: all(row(other).state == "successful" for other in others), timeout=LONG_SECONDS)
        wait_until(all_located, timeout=LONG_SECONDS)
    assert len(NETWORKS) + len(trouble) <= len(service.calls) <= len(NETWORKS) + 10
