"""The list of networks."""

import pytest
from django.utils import translation

from django_locqueue.accesslog.models import Location
from tests.accesslog.pages.rows import entry, shown, ticked

pytestmark = [pytest.mark.django_db, pytest.mark.any_vendor]


def test_a_deleted_location_leaves_the_log_alone(admin_client, place):
    entry()
    admin_client.post("/admin/locqueue_accesslog/location/", ticked([place], post="yes"))
    assert not Location.objects.exists()
    assert shown(admin_client) == ["/path-0/"]


def test_locations_are_narrowed_by_precision_in_words(admin_client, place):
    Location.objects.update(precision="city")
    page = "/admin/locqueue_accesslog/location/?precision__exact="
    assert list(admin_client.get(page + "city").context["cl"].result_list) == [place]
    assert list(admin_client.get(page + "country").context["cl"].result_list) == []


def test_the_operator_of_a_network_is_not_its_data_source(admin_client, place):
    html = admin_client.get("/admin/locqueue_accesslog/location/").content.decode()
    assert "Network operator" in html
    assert "Data source" in html


def test_locations_are_listed(admin_client, place):
    html = admin_client.get("/admin/locqueue_accesslog/location/?state__exact=located&q=49.65.").content.decode()
    assert "中国 · 江苏 · 南京" in html


def test_a_reserved_network_has_a_chinese_name():
    with translation.override("zh-hans"):
        assert Location(prefix="127.0.0.0/24", state="reserved").text == "本机"
