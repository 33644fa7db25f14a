"""The list of requests, and the page of one."""

import datetime
import re

import pytest
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.http import HttpRequest
from django.utils import timezone, translation

from django_locqueue.accesslog.admin.shown import masked
from django_locqueue.accesslog.models import AccessLog
from django_locqueue.accesslog.visible import visible
from tests.accesslog.pages.rows import LIST, entry, html_of, located, shown, ticked

pytestmark = [pytest.mark.django_db, pytest.mark.any_vendor]


def test_a_row_shows_the_request_and_its_place(admin_client, place):
    entry()
    html = admin_client.get(LIST).content.decode()
    for text in ("49.65.250.135", "中国 · 江苏 · 南京 电信", "GET", "/path-0/", "200", "42 ms"):
        assert text in html


def test_the_list_costs_the_same_for_any_number_of_rows(
    admin_client, place, kept_snapshot, django_assert_max_num_queries
):
    alice = get_user_model().objects.create(username="alice")
    for _ in range(60):
        entry(user=alice)
    # session, user, the strip's queues, countries, count, rows, places, users, losses
    with django_assert_max_num_queries(10):
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
        ("?q=/a", ["/a"]),
        ("?q=/a&last=24h", []),
        ("?q=/a&last=7d", ["/a"]),
        ("?slow=yes", ["/c"]),
        ("?slow=no&bot=no", ["/b", "/a"]),
        ("?country=US", ["/c", "/b"]),
        ("?country=CN", ["/a"]),
        ("?place=CN|江苏", ["/a"]),
        ("?place=CN|江苏|南京", ["/a"]),
        ("?place=CN|浙江", []),
        ("?network_operator=电信", ["/a"]),
        ("?path_is=/b", ["/b"]),
        ("?action_is=home", ["/d"]),
        ("?referrer_is=a.example", ["/d"]),
        ("?since=2020-01-01T00:00Z&until=2020-01-02T00:00Z", []),
        ("?since=2020-01-01T00:00Z&last=24h", ["/d", "/c", "/b"]),
        ("?q=%00", ["/d", "/c", "/b", "/a"]),
        ("?q=nobody", []),
    ],
)
def test_the_list_can_be_narrowed(admin_client, place, query, paths):
    alice = get_user_model().objects.create(username="alice")
    located("8.8.8.0/24", country_code="US", country="美国")
    entry(path="/a", user=alice, time=timezone.now() - datetime.timedelta(days=2))
    entry(path="/b", status=404, ip="8.8.8.8", location_id="8.8.8.0/24")
    entry(path="/c", method="POST", ip="8.8.8.9", location_id="8.8.8.0/24", duration_ms=1000)
    entry(path="/d", is_bot=True, location_id=None, action="home", referer="https://www.a.example/page")
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
    assert AccessLog.objects.get().path == "/path-0/"


def test_what_is_ticked_can_be_deleted_after_a_question(admin_client):
    rows = [entry() for _ in range(3)]
    assert "/path-1/" in admin_client.post(LIST, ticked(rows[:2], index=0)).content.decode()
    assert AccessLog.objects.count() == 3
    admin_client.post(LIST, ticked(rows[:2], post="yes"))
    assert [row.path for row in AccessLog.objects.all()] == ["/path-2/"]


def test_no_more_than_a_page_is_deleted_at_once(admin_client):
    rows = [entry() for _ in range(52)]
    admin_client.post(LIST, ticked(rows[:1], post="yes", select_across="1"))
    assert AccessLog.objects.count() == 51
    admin_client.post(LIST, ticked(rows[1:], post="yes"))
    assert AccessLog.objects.count() == 1


def test_what_is_no_key_deletes_nothing(admin_client):
    entry()
    posted = {"action": "delete_selected", "_selected_action": "x", "post": "yes"}
    assert admin_client.post(LIST, posted).status_code == 400
    assert AccessLog.objects.exists()


def test_deleting_needs_its_permission(viewer):
    row = entry()
    assert "delete_selected" not in viewer.get(LIST).content.decode()
    viewer.post(LIST, ticked([row], post="yes"))
    assert viewer.post(f"{LIST}{row.pk}/delete/", {"post": "yes"}).status_code == 403
    assert AccessLog.objects.exists()


def test_each_page_leads_to_the_others(admin_client, place):
    row = entry()
    location_page = "/admin/locqueue_accesslog/location/49.65.250.0_2F24/change/"
    for url in (LIST, f"{LIST}{row.pk}/change/", "/admin/locqueue_accesslog/location/", location_page):
        html = admin_client.get(url).content.decode()
        strip = html.partition('class="lq-strip"')[2].partition("</ul>")[0]
        assert f'href="{LIST}"' in strip
        assert "/admin/locqueue/failedtask/" in strip
        assert not re.search(r"<style|\sstyle=|<script(?![^>]*\ssrc=)", html)


def test_a_search_keeps_the_filters(admin_client):
    html = admin_client.get(f"{LIST}?last=7d&q=/a").content.decode()
    assert '<input type="hidden" name="last" value="7d">' in html


def test_the_page_of_a_bot_says_which(admin_client):
    row = entry(user_agent="Examplebot/1.0", is_bot=True)
    assert '<div class="readonly">Examplebot/1.0</div>' in admin_client.get(f"{LIST}{row.pk}/change/").content.decode()


@pytest.mark.parametrize(
    ("milliseconds", "english", "chinese"),
    [(0.42, "0.4 ms", "0.4 毫秒"), (9.97, "10 ms", "10 毫秒"), (42.4, "42 ms", "42 毫秒"), (1260, "1.3 s", "1.3 秒")],
)
def test_a_duration_has_two_digits(milliseconds, english, chinese):
    model_admin = admin.site.get_model_admin(AccessLog)
    for language, words in (("en", english), ("zh-hans", chinese)):
        with translation.override(language):
            assert model_admin.took(AccessLog(duration_ms=milliseconds)) == words


def test_a_user_with_log_entries_can_be_deleted_in_admin(admin_client):
    alice = get_user_model().objects.create(username="alice")
    entry(user=alice)
    admin_client.post(f"/admin/auth/user/{alice.pk}/delete/", {"post": "yes"})
    assert AccessLog.objects.get().user_id is None


def test_the_pages_need_permission(client):
    client.force_login(get_user_model().objects.create(username="bob", is_staff=True))
    assert client.get(LIST).status_code == 403


def test_every_lookup_of_the_filters_is_allowed():
    model_admin = admin.site._registry[AccessLog]
    names = [getattr(listed, "parameter_name", "") for listed in model_admin.list_filter]
    assert all(model_admin.lookup_allowed(name, "", HttpRequest()) for name in names)


def test_the_log_speaks_chinese(admin_client, place):
    entry()
    html = html_of(admin_client, LIST, **{"accept-language": "zh-hans"})
    for text in ("访问日志", "IP 属地（估算）", "状态码", "用时", "最近 24 小时"):
        assert text in html
