"""The access log in admin."""

import datetime

import pytest
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.http import HttpRequest
from django.urls import path
from django.utils import timezone, translation

from django_locqueue.accesslog.admin import masked, visible
from django_locqueue.accesslog.models import AccessLog, Location

pytestmark = [pytest.mark.django_db, pytest.mark.urls(__name__)]

urlpatterns = [path("admin/", admin.site.urls)]

LIST = "/admin/locqueue_accesslog/accesslog/"


@pytest.fixture(autouse=True)
def _switched_off(settings):
    settings.LOCQUEUE = {"ACCESS_LOG": {"ENABLED": False}}  # the log would log its own reading


@pytest.fixture
def viewer(client):
    """A member of staff who may see the log, but not full addresses."""
    user = get_user_model().objects.create(username="viewer", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_accesslog"))
    client.force_login(user)
    return client


def entry(**fields):
    number = AccessLog.objects.count()
    values = {
        "hit_id": f"{number:032x}",
        "time": timezone.now(),
        "ip": "49.65.250.135",
        "location_id": "49.65.250.0/24",
        "method": "GET",
        "path": f"/path-{number}/",
        "status": 200,
        "duration_ms": 42,
    }
    return AccessLog.objects.create(**{**values, **fields})


@pytest.fixture
def place():
    return Location.objects.create(
        prefix="49.65.250.0/24", state="located", country="中国", province="江苏", city="南京", isp="电信"
    )


def shown(client, query=""):
    response = client.get(f"{LIST}{query}")
    assert response.status_code == 200
    return [row.path for row in response.context["cl"].result_list]


def test_a_row_shows_the_request_and_its_place(admin_client, place):
    entry()
    html = admin_client.get(LIST).content.decode()
    for text in ("49.65.250.135", "中国 · 江苏 · 南京 电信", "GET", "/path-0/", "200", "42 ms"):
        assert text in html


def test_the_list_costs_the_same_for_any_number_of_rows(admin_client, place, django_assert_max_num_queries):
    alice = get_user_model().objects.create(username="alice")
    for _ in range(60):
        entry(user=alice)
    with django_assert_max_num_queries(6):  # session, user, capped count, rows, their places, their users
        assert len(shown(admin_client)) == 50


def test_an_address_is_masked_for_those_who_may_not_see_it(viewer, place):
    row = entry()
    for url in (LIST, f"{LIST}{row.pk}/change/"):
        html = viewer.get(url).content.decode()
        assert "49.65.250.•" in html
        assert "49.65.250.135" not in html


@pytest.mark.parametrize(
    ("ip", "text"), [("203.0.113.9", "203.0.113.•"), ("10.0.0.1", "10.0.0.•"), ("2400:3200:1:2::3", "2400:3200:1::•")]
)
def test_the_end_of_an_address_is_masked(ip, text):
    assert masked(ip) == text


def test_one_entry_opens(admin_client, place):
    row = entry(user_agent="Mozilla", referer="https://a.example/")
    html = admin_client.get(f"{LIST}{row.pk}/change/").content.decode()
    assert "Mozilla" in html
    assert "https://a.example/" in html


def test_what_visitors_send_is_escaped(admin_client):
    entry(path="/<script>alert(1)</script>", user_agent='"><script>bot', is_bot=True, location_id=None)
    assert "<script>alert" not in admin_client.get(LIST).content.decode()


def test_a_direction_character_is_written_out():
    assert visible("a\u202eb\nc中") == "a\\u202eb\\u000ac中"


def test_a_row_without_address_place_or_user_is_shown(admin_client):
    entry(ip=None, location_id=None, user_id=None)
    assert shown(admin_client) == ["/path-0/"]


def test_a_row_whose_place_and_user_are_gone_is_shown(admin_client):
    row = entry(user_id=4711)
    assert "#4711" in admin_client.get(LIST).content.decode()
    assert admin_client.get(f"{LIST}{row.pk}/change/").status_code == 200


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("", ["/d", "/c", "/b", "/a"]),
        ("?status_class=4", ["/b"]),
        ("?method_is=POST", ["/c"]),
        ("?bot=yes", ["/d"]),
        ("?signed_in=yes", ["/a"]),
        ("?last=1h", ["/d", "/c", "/b"]),
        ("?status_class=nonsense", ["/d", "/c", "/b", "/a"]),
        ("?q=alice", ["/a"]),
        ("?q=8.8.8.8", ["/b"]),
        ("?q=8.8.8.0/24", ["/c", "/b"]),
        ("?q=/c", ["/c"]),
        ("?q=/a", []),  # older than a day
        ("?q=/a&last=7d", ["/a"]),
        ("?q=%00", ["/d", "/c", "/b", "/a"]),
        ("?q=nobody", []),
    ],
)
def test_the_list_can_be_narrowed(admin_client, query, paths):
    alice = get_user_model().objects.create(username="alice")
    entry(path="/a", user=alice, time=timezone.now() - datetime.timedelta(days=2))
    entry(path="/b", status=404, ip="8.8.8.8", location_id="8.8.8.0/24")
    entry(path="/c", method="POST", ip="8.8.8.9", location_id="8.8.8.0/24")
    entry(path="/d", is_bot=True)
    assert shown(admin_client, query) == paths


def test_a_full_address_cannot_be_guessed_by_searching(viewer):
    entry()
    assert shown(viewer, "?q=49.65.250.7") == ["/path-0/"]  # the network, and not whether the address is right


@pytest.mark.parametrize("query", ["?user__password__startswith=p", "?ip__startswith=4", "?path__regex=.*"])
def test_no_other_lookup_is_allowed(admin_client, query):
    assert admin_client.get(LIST + query).status_code == 400


def test_nothing_can_be_changed(admin_client):
    row = entry()
    assert admin_client.get(f"{LIST}add/").status_code == 403
    assert admin_client.post(f"{LIST}{row.pk}/change/", {"path": "/x"}).status_code == 403
    assert admin_client.post(f"{LIST}{row.pk}/delete/", {"post": "yes"}).status_code == 403


def test_a_user_with_log_entries_can_be_deleted_in_admin(admin_client):
    alice = get_user_model().objects.create(username="alice")
    entry(user=alice)
    admin_client.post(f"/admin/auth/user/{alice.pk}/delete/", {"post": "yes"})
    assert AccessLog.objects.get().user_id is None


def test_locations_are_listed(admin_client, place):
    html = admin_client.get("/admin/locqueue_accesslog/location/?state__exact=located&q=49.65.").content.decode()
    assert "中国 · 江苏 · 南京" in html


def test_the_pages_need_permission(client):
    client.force_login(get_user_model().objects.create(username="bob", is_staff=True))
    assert client.get(LIST).status_code == 403


def test_every_lookup_of_the_filters_is_allowed():
    model_admin = admin.site._registry[AccessLog]
    names = [getattr(listed, "parameter_name", "") for listed in model_admin.list_filter]
    assert all(model_admin.lookup_allowed(name, "", HttpRequest()) for name in names)


def test_the_log_speaks_chinese(admin_client, place):
    entry()
    with translation.override("en"):  # LocaleMiddleware leaves its language to the next test
        html = admin_client.get(LIST, headers={"accept-language": "zh-hans"}).content.decode()
    for text in ("访问日志", "IP 属地（估算）", "状态码", "用时", "最近 24 小时"):
        assert text in html


def test_a_reserved_network_has_a_chinese_name():
    with translation.override("zh-hans"):
        assert Location(prefix="127.0.0.0/24", state="reserved").text == "本机"
