"""Which site sent a visitor."""

import pytest

from django_locqueue.accesslog.analytics.counting import count
from django_locqueue.accesslog.analytics.referring import referring_site
from tests.accesslog.analytics.rows import HOUR, log, logged

of_referrers = pytest.mark.parametrize(
    ("referer", "site"),
    [
        ("", ""),
        ("https://www.baidu.com/s", "baidu.com"),
        ("https://news.example.org", "news.example.org"),
        ("HTTPS://News.Example.ORG/a", "news.example.org"),
        ("http://example.com:8080/a", ""),
        ("https://EXAMPLE.com/cart", ""),
        ("/cart", ""),
        ("android-app://com.tencent.mm/x", "android-app://com.tencent.mm"),
        ("http://[2001:db8::1]:80/", "[2001:db8::1]"),
        ("nonsense", ""),
    ],
)


@of_referrers
def test_the_site_of_a_referrer(referer, site):
    assert referring_site(referer, "example.com:8000") == site


def test_the_own_site_sends_nobody_though_an_imported_line_names_no_host(settings):
    settings.ALLOWED_HOSTS = ["shop.example"]
    assert referring_site("https://www.shop.example/cart", "") == ""


@pytest.mark.django_db
@of_referrers
def test_what_the_database_groups_by_is_of_the_same_site(referer, site):
    log(logged(referer=referer, host="Example.com:8000"))
    assert [row.key for row in count(HOUR) if row.dimension == "referer"] == [site]


@pytest.mark.django_db
def test_of_another_address_of_ipv6_the_site_is_no_own():
    log(logged(referer="http://[2001:db8::1]/", host="[2001:db8::2]"))
    assert [row.key for row in count(HOUR) if row.dimension == "referer"] == ["[2001:db8::1]"]
