"""How a request leads to its tasks and its neighbours, and a task to its request."""

from typing import Any

import pytest
from django.test import Client

from django_locqueue.models import Task
from tests import tasks
from tests.accesslog.pages.rows import LIST, entry, html_of, minutes_ago

pytestmark = [pytest.mark.django_db, pytest.mark.any_vendor]

HIT_ID = "a" * 32


def page_of(row: Any) -> str:
    return f"{LIST}{row.pk}/change/"


@pytest.fixture
def task() -> Task:
    """A task that the request ``HIT_ID`` enqueued."""
    result = tasks.add.using(metadata={"request_id": HIT_ID}).enqueue(1, 2)
    found: Task = Task.objects.get(pk=result.id)
    return found


def test_a_request_that_is_not_stored_yet_is_said_to_be_missing(admin_client: Client, task: Task) -> None:
    assert f"{HIT_ID} (not on record)" in html_of(admin_client, f"/admin/locqueue/task/{task.pk}/change/")


def test_a_request_is_found_by_its_id(admin_client: Client) -> None:
    row = entry(hit_id=HIT_ID)
    entry()
    assert [found.pk for found in admin_client.get(f"{LIST}?q={HIT_ID}").context["cl"].result_list] == [row.pk]


def test_a_request_says_how_much_else_came_from_its_address_that_day(admin_client: Client) -> None:
    row = entry()
    entry(path="/else")
    entry(time=minutes_ago(60 * 25))
    entry(ip="49.65.250.7")
    context = admin_client.get(page_of(row)).context
    assert context["same_day"] == "2"
    assert len(admin_client.get(context["same_day_url"]).context["cl"].result_list) == 2


def test_without_full_addresses_it_is_the_network_that_is_counted(viewer: Client) -> None:
    row = entry()
    entry(ip="49.65.250.7")
    assert viewer.get(page_of(row)).context["same_day"] == "2"


def test_a_request_without_an_address_has_no_neighbours(admin_client: Client) -> None:
    assert "same_day" not in admin_client.get(page_of(entry(ip=None, location_id=None))).context
