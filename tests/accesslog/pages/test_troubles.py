"""What the pages say of requests that were lost, and of services that do not answer."""

from typing import Any

import pytest
from django.test import Client

from django_locqueue.accesslog.models import Loss, ProviderState
from tests.accesslog.pages.rows import LIST, entry, html_of, minutes_ago

pytestmark = pytest.mark.django_db


def lose(number: int, minutes: float = 1) -> None:
    loss_id = f"{Loss.objects.count():032x}"
    Loss.objects.create(loss_id=loss_id, time=minutes_ago(minutes), dropped=number, refused=0, errors=0)


def test_requests_of_a_day_that_were_not_logged_are_counted_over_all_processes(admin_client: Client) -> None:
    lose(1_200)
    lose(4)
    lose(99, minutes=25 * 60)
    assert "1204 requests of the last 24 hours were not logged." in html_of(admin_client, LIST).replace(",", "")


def test_without_losses_nothing_is_said(admin_client: Client) -> None:
    entry()
    assert "not logged" not in html_of(admin_client, LIST)


@pytest.mark.parametrize(("installed", "said"), [(True, "A worker stores them:"), (False, "to MIDDLEWARE")])
def test_an_empty_log_says_what_is_missing(admin_client: Client, settings: Any, installed: bool, said: str) -> None:
    if not installed:
        settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if "accesslog" not in name]
    html = html_of(admin_client, LIST)
    assert "No requests logged yet." in html
    assert said in html


def test_a_list_that_is_narrowed_to_nothing_says_so(admin_client: Client) -> None:
    entry()
    assert "No request matches." in html_of(admin_client, f"{LIST}?status_class=5")


def test_a_service_that_is_left_alone_says_why_and_until_when(admin_client: Client) -> None:
    ProviderState.objects.create(
        name="amap",
        trouble=ProviderState.Trouble.EXHAUSTED,
        reason="10003\u202e",
        failures=1,
        open_until=minutes_ago(-61),
        changed_at=minutes_ago(5),
    )
    html = html_of(admin_client, "/admin/locqueue_accesslog/providerstate/").replace("\xa0", " ")
    for text in ("amap", "Quota used up", "10003\\u202e", "in 1 hour", "5 minutes ago"):
        assert text in html


def test_services_need_their_permission(viewer: Client, person: Any) -> None:
    page = "/admin/locqueue_accesslog/providerstate/"
    assert viewer.get(page).status_code == 403
    assert person("view_providerstate").get(page).status_code == 200
