"""The list of location services, and what is wrong with them."""

import pytest

from django_locqueue.accesslog.breaker import Breaker
from django_locqueue.accesslog.models import ProviderState
from tests.accesslog.pages.rows import html_of, ticked

pytestmark = [pytest.mark.django_db, pytest.mark.any_vendor]

PAGE = "/admin/locqueue_accesslog/providerstate/"


def test_a_service_that_denies_access_is_listed_with_its_reason(admin_client):
    Breaker("amap").deny("infocode '10001'")
    html = html_of(admin_client, PAGE)
    assert "amap" in html
    assert "Access denied" in html
    assert "infocode &#x27;10001&#x27;" in html


def test_a_service_that_is_well_again_has_no_trouble(admin_client):
    Breaker("amap").fail("timeout")
    Breaker("amap").succeed()
    html = html_of(admin_client, PAGE)
    assert "timeout" not in html
    assert "Does not answer" not in html


def test_the_reason_is_shown_as_text(admin_client):
    Breaker("amap").deny("<script>alert(1)</script> \u202egnp")
    state = ProviderState.objects.get()
    for page in (PAGE, f"{PAGE}{state.pk}/change/"):
        html = html_of(admin_client, page)
        assert "<script>alert" not in html
        assert "\u202e" not in html


def test_a_deleted_row_lets_the_service_be_asked(admin_client):
    Breaker("amap").deny("a key that was wrong")
    admin_client.post(PAGE, ticked([ProviderState.objects.get()], post="yes"))
    assert Breaker("amap").seconds == 0


def test_only_who_may_view_services_sees_them(viewer, person):
    assert viewer.get(PAGE).status_code == 403
    assert person("view_providerstate").get(PAGE).status_code == 200


def test_the_list_speaks_chinese(admin_client):
    Breaker("amap").exhaust("10003", 60)
    assert "配额已用完" in html_of(admin_client, PAGE, **{"accept-language": "zh-hans"})
