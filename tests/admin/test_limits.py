"""The list of limits, and what the page of a task says of why it waits."""

import html
import re
from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.utils import timezone

from django_locqueue.models import Limit, Queue
from django_locqueue.policies.terms import Terms
from tests.admin.conftest import list_url

pytestmark = pytest.mark.django_db

ONE = Terms(concurrency=1).dump()
SLOW = Terms(rate_key="amap", rate_limit=1, rate_seconds=3600.0).dump()


@pytest.fixture
def text_of(root):
    def text(url):
        return " ".join(root.get(url).content.decode().split())

    return text


@pytest.fixture
def why(make_task, text_of):
    def why(**fields):
        task = make_task("blocked", **fields)
        return text_of(f"/admin/locqueue/task/{task.pk}/change/")

    return why


def test_a_task_that_waits_for_a_place_says_how_many_run(make_task, why):
    make_task("running", limit_key="c:shop-1", terms=ONE)
    assert "Limit shop-1: 1 of 1 running." in why(limit_key="c:shop-1", terms=ONE)


def test_a_task_that_waits_for_its_rate_says_when_the_next_may_start(why):
    Limit.objects.create(key="r:amap", next_at=timezone.now() + timedelta(minutes=30))
    assert "Limit amap: 1/h, the next start in 29 minutes." in why(limit_key="r:amap", terms=SLOW)


def test_a_task_whose_rate_is_paused_says_until_when(why):
    Limit.objects.create(key="r:amap", paused_until=timezone.now() + timedelta(hours=1))
    assert "Limit amap: paused until" in why(limit_key="r:amap", terms=SLOW)


def test_a_task_that_nothing_holds_back_says_so(why):
    assert "It is among the next of limit shop-1." in why(limit_key="c:shop-1", terms=ONE)


@pytest.mark.parametrize("terms", ["nonsense", '{"concurrency":"x"}', "[]", None])
def test_terms_that_were_edited_by_hand_break_no_page(why, terms):
    assert "blocked" in why(limit_key="c:shop-1", terms=terms).lower()


def test_the_list_says_what_is_allowed_and_how_many_run_and_wait(make_task, text_of):
    Queue.objects.create(name="default")
    Limit.objects.create(key="c:shop-1", concurrency=1)
    Limit.objects.create(key="r:amap", rate="10/s", paused_until=timezone.now() + timedelta(hours=1))
    make_task("running", limit_key="c:shop-1", terms=ONE)
    for _ in range(3):
        make_task("blocked", limit_key="c:shop-1", terms=ONE)
    text = text_of(list_url("limit"))
    for cell in ("shop-1", "1 at once", "amap", "10/s", "paused until"):
        assert cell in text
    running, waiting = re.findall(r'href="([^"]*)">(?:1|3)</a></td>', text)
    for url, number in ((running, 1), (waiting, 3)):
        assert text_of(html.unescape(url)).count('class="field-task_column"') == number


def test_a_number_under_a_limit_whose_name_is_masked_is_no_link(make_task, text_of):
    secret = "postgres://app:hunter2@db"
    Limit.objects.create(key=f"c:{secret}", concurrency=1)
    make_task("running", limit_key=f"c:{secret}", terms=ONE)
    text = text_of(list_url("limit"))
    assert '"field-running_column">1<' in text
    assert "hunter2" not in text


def test_what_waits_under_a_limit_is_pending_and_listed_with_its_limit(make_task, text_of):
    make_task("blocked", limit_key="c:shop-1", terms=ONE)
    page = text_of(list_url("pendingtask", "?tab=blocked"))
    assert "limit shop-1" in page
    assert re.search(r"Pending\s*<[^>]*>1<", page)


# -- go on

GO_ON = "/admin/locqueue/limit/r_3Aamap/resume/"


@pytest.fixture
def paused(db):
    until = timezone.now() + timedelta(days=1000)
    return Limit.objects.create(key="r:amap", paused_until=until, next_at=until)


def test_a_button_ends_the_pause_of_a_rate(paused, person):
    client = person("view_limit", "pause_queue")
    assert f'formaction="{GO_ON}"' in client.get(list_url("limit")).content.decode()
    assert "Limit “amap” goes on." in client.post(GO_ON, follow=True).content.decode()
    paused.refresh_from_db()
    assert (paused.paused_until, paused.next_at) == (None, None)
    assert LogEntry.objects.get().object_repr == "amap"


def test_a_limit_that_is_not_paused_has_no_button(root):
    Limit.objects.create(key="r:amap", next_at=timezone.now() + timedelta(hours=1))
    assert "formaction" not in root.get(list_url("limit")).content.decode()
    assert "was not paused" in root.post(GO_ON, follow=True).content.decode()


def test_who_may_not_pause_queues_ends_no_pause(paused, person):
    client = person("view_limit")
    assert "formaction" not in client.get(list_url("limit")).content.decode()
    assert client.post(GO_ON).status_code == 403
    paused.refresh_from_db()
    assert paused.paused_until is not None


def test_get_ends_no_pause_and_a_limit_that_is_gone_is_not_found(root):
    assert root.get(GO_ON).status_code == 405
    assert root.post(GO_ON).status_code == 404
