"""What is deleted in admin leaves the counts as well."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from django_locqueue.accesslog.analytics.period import hour_of
from django_locqueue.accesslog.models import StaleHour
from tests.accesslog.pages.rows import LIST, entry, minutes_ago, ticked

pytestmark = [pytest.mark.django_db, pytest.mark.any_vendor]

LOCATIONS = "/admin/locqueue_accesslog/location/"
POSTED = {"post": "yes"}


@pytest.mark.parametrize(
    "delete",
    [
        lambda client, row, place: client.post(LIST, ticked([row], **POSTED)),
        lambda client, row, place: client.post(f"{LIST}{row.pk}/delete/", POSTED),
        lambda client, row, place: client.post(LOCATIONS, ticked([place], **POSTED)),
        lambda client, row, place: client.post(f"{LOCATIONS}49.65.250.0_2F24/delete/", POSTED),
    ],
    ids=["rows", "a row", "networks", "a network"],
)
def test_its_hours_are_counted_again(admin_client: Client, place: Any, delete: Callable[..., Any]) -> None:
    row = entry(time=minutes_ago(180))
    entry(location_id=None)
    assert delete(admin_client, row, place).status_code == 302
    assert list(StaleHour.objects.values_list("hour", flat=True)) == [hour_of(row.time)]


def test_what_is_only_asked_about_is_not(admin_client: Client) -> None:
    admin_client.post(LIST, ticked([entry()]))
    assert not StaleHour.objects.exists()
