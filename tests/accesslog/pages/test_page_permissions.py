"""Who may see which page of the access log."""

from typing import Any

import pytest
from django.test import Client

from django_locqueue.accesslog.asking import look_up
from django_locqueue.accesslog.delivery import enqueue_hits
from django_locqueue.accesslog.locating import request_locating
from django_locqueue.models import Task
from tests.accesslog.conftest import a_hit
from tests.accesslog.pages.rows import ANALYTICS, EXPORT, LIST, count_all, entry, html_of, located, shown

pytestmark = [pytest.mark.django_db, pytest.mark.any_vendor]

ADDRESS = f"{LIST}address/49.65.250.135/"
LOCATIONS = "/admin/locqueue_accesslog/location/"
LOG, FULL, CSV = "view_accesslog", "view_full_ip", "export_data"


@pytest.mark.parametrize(
    ("page", "needed"),
    [(LIST, {LOG}), (ANALYTICS, {LOG}), (EXPORT, {LOG, CSV}), (ADDRESS, {LOG, FULL})],
)
@pytest.mark.parametrize("held", [(), (LOG,), (FULL,), (CSV,), (LOG, FULL), (LOG, CSV), (FULL, CSV), (LOG, FULL, CSV)])
def test_a_page_needs_its_permissions(person: Any, page: str, needed: set[str], held: tuple[str, ...]) -> None:
    assert person(*held).get(page).status_code == (200 if needed <= set(held) else 403)


@pytest.mark.parametrize("page", [LIST, ANALYTICS, EXPORT, ADDRESS])
def test_who_is_not_signed_in_is_asked_to(client: Client, page: str) -> None:
    assert client.get(page).headers["Location"].startswith("/admin/login/")


@pytest.mark.parametrize("page", [ANALYTICS, ADDRESS])
def test_a_page_that_only_shows_is_not_posted_to(admin_client: Client, page: str) -> None:
    assert admin_client.post(page).status_code == 405


def test_without_its_permission_no_page_holds_a_full_address(viewer: Client, place: Any) -> None:
    row = entry()
    count_all()
    for page in (LIST, ANALYTICS, f"{LIST}{row.pk}/change/"):
        html = html_of(viewer, page)
        assert "49.65.250.•" in html, page
        assert "49.65.250.135" not in html, page


@pytest.mark.parametrize("bits", [32, 24])  # today's; the row is of another day
def test_a_network_that_is_an_address_is_hidden_too(viewer: Client, settings: Any, bits: int) -> None:
    settings.LOCQUEUE = {"ACCESS_LOG": {"ENABLED": False, "PREFIX_V4": bits}}
    row = entry(location_id="49.65.250.135/32")
    assert "49.65.250.135" not in html_of(viewer, f"{LIST}{row.pk}/change/")
    for term in ("49.65.250.135", "49.65.250.135/32"):
        assert shown(viewer, f"?q={term}") == []  # else one could try them all


def test_a_network_of_many_is_shown_whatever_the_setting(viewer: Client, settings: Any) -> None:
    settings.LOCQUEUE = {"ACCESS_LOG": {"ENABLED": False, "PREFIX_V4": 32}}
    row = entry()
    assert "49.65.250.0/24" in html_of(viewer, f"{LIST}{row.pk}/change/")
    assert shown(viewer, "?q=49.65.250.0/24") == [row.path]


def networks(client: Client, query: str = "") -> list[str]:
    return [row.prefix for row in client.get(LOCATIONS + query).context["cl"].result_list]


def test_the_list_of_networks_has_none_that_is_as_good_as_an_address(person: Any) -> None:
    many = ["10.0.0.0/8", "2001:db8:1::/48", "2001:db8::/9", "49.65.250.0/24"]
    few = ["2001:db8:1::/49", "2001:db8:1::/64", "2001:db8:1::7/128", "49.65.250.0/25", "49.65.250.135/32"]
    for prefix in many + few:
        located(prefix)
    assert networks(person("view_location")) == many
    assert networks(person("view_location", FULL)) == sorted(many + few)


def test_nor_can_one_be_found_there(person: Any) -> None:
    located("49.65.250.135/32")
    viewer = person("view_location")
    assert networks(viewer, "?q=49.65.") == []
    assert viewer.get(f"{LOCATIONS}49.65.250.135_2F32/change/").status_code == 302


def test_buttons_are_for_those_who_may_press_them(viewer: Client, person: Any) -> None:
    assert "Export CSV" not in html_of(viewer, LIST)
    assert "Export CSV" in html_of(person(LOG, CSV), LIST)


@pytest.mark.parametrize("hits", [1, 500])  # the latter's arguments are cut
def test_a_task_that_holds_hits_shows_none_of_their_addresses(person: Any, hits: int) -> None:
    enqueue_hits([a_hit(ip="49.65.250.135")] * hits)
    task = Task.objects.get()
    viewer = person("view_task")
    for page in (f"/admin/locqueue/task/{task.pk}/change/", "/admin/locqueue/pendingtask/"):
        assert "49.65.250.135" not in viewer.get(page).content.decode()


def test_a_task_about_a_network_that_is_an_address_does_not_show_it(person: Any, settings: Any) -> None:
    services = {"PROVIDERS": ["tests.accesslog.services.Told"]}
    settings.LOCQUEUE = {"ACCESS_LOG": {"ENABLED": False, "PREFIX_V4": 32, "GEO": services}}
    request_locating(["49.65.250.135/32"])
    look_up(["49.65.250.136/32"])
    viewer = person("view_task")
    pages = [f"/admin/locqueue/task/{task.pk}/change/" for task in Task.objects.all()]
    assert len(pages) == 2
    for page in (*pages, "/admin/locqueue/pendingtask/"):
        assert "49.65.250.13" not in viewer.get(page).content.decode()
