"""Which site sent a visitor."""

import pytest

from django_locqueue.accesslog.analytics.referring import referring_site


@pytest.mark.parametrize(
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
def test_the_site_of_a_referrer(referer, site):
    assert referring_site(referer, "example.com:8000") == site


def test_the_own_site_sends_nobody_though_an_imported_line_names_no_host(settings):
    settings.ALLOWED_HOSTS = ["shop.example"]
    assert referring_site("https://www.shop.example/cart", "") == ""
