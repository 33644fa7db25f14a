"""What leaves the process of a hit, by the settings."""

from ipaddress import ip_address, ip_network

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from django_locqueue.accesslog.prefix import network_prefix
from django_locqueue.accesslog.privacy.policy import PrivacyPolicy, current_policy
from django_locqueue.accesslog.privacy.protection import protect
from django_locqueue.accesslog.privacy.pseudonym import pseudonym, visitor
from tests.accesslog.conftest import a_hit

IP, IP6 = "49.65.250.135", "2001:db8:1:2::9"
DAY = 86_400.0


@pytest.fixture(autouse=True)
def settings_of_a_site(site):
    site.ROOT_URLCONF = "tests.accesslog.privacy.urls"


def stored(ip_storage="full", hit=None, **how):
    return protect(hit or a_hit(ip=IP), PrivacyPolicy(ip_storage=ip_storage), **how)


# Addresses


def test_a_full_address_is_kept():
    assert stored().ip == IP


@pytest.mark.parametrize(("ip", "kept"), [(IP, "49.65.250.0"), (IP6, "2001:db8:1::")])
def test_a_truncated_address_is_that_of_its_network(ip, kept):
    assert stored("truncate", a_hit(ip=ip)).ip == kept


def test_a_truncated_address_has_the_length_of_the_prefix():
    assert protect(a_hit(ip=IP), PrivacyPolicy(ip_storage="truncate", prefix_v4=16)).ip == "49.65.0.0"


def test_a_hashed_address_is_the_same_all_day_and_another_the_next():
    first, second, next_day = (stored("hash", a_hit(ip=IP, time=time)).ip for time in (0.0, DAY - 1, DAY))
    assert first == second != next_day


def test_a_hashed_address_is_nobodys():
    assert ip_address(stored("hash").ip) in ip_network("3fff::/20")  # RFC 9637: for documentation


@pytest.mark.parametrize(
    ("ip", "network"), [(IP, "49.65.250.0/24"), (IP6, "2001:db8:1::/48"), ("1.2.3.4", "1.2.3.0/24")]
)
def test_a_hashed_address_tells_its_network_and_no_more(ip, network):
    hashed = stored("hash", a_hit(ip=ip)).ip
    assert network_prefix(hashed, 24, 48) == network
    assert network_prefix(hashed, 32, 128) == network


def test_a_hashed_address_has_as_wide_a_network_as_others():
    assert network_prefix(stored("hash").ip, 16, 48) == "49.65.0.0/16"


@given(st.ip_addresses())
def test_the_network_of_an_address_is_that_of_its_pseudonym(address):
    assume(address.version == 4 or int(address) >> 112)  # not ::1
    ip = str(address)
    assert network_prefix(pseudonym(ip, b"k" * 32), 24, 48) == network_prefix(ip, 24, 48)


def test_without_addresses_nothing_that_was_made_of_one_is_kept():
    hit = stored("none")
    assert (hit.ip, hit.visitor) == (None, "")


def test_a_mode_that_does_not_exist_is_the_most_private(configure):
    configure(IP_STORAGE="truncated")
    assert protect(a_hit(ip=IP), current_policy()).ip is None


@pytest.mark.parametrize("ip_storage", ["truncate", "hash", "none"])
def test_the_address_is_in_no_field_of_what_leaves_the_process(ip_storage):
    assert IP not in str(stored(ip_storage).to_json())


# Visitors


@pytest.mark.parametrize("ip_storage", ["full", "truncate", "hash"])
def test_a_visitor_is_an_address_with_an_agent(ip_storage):
    one, again, other_agent, neighbour = (
        stored(ip_storage, a_hit(ip=ip, user_agent=agent)).visitor
        for ip, agent in ((IP, "a"), (IP, "a"), (IP, "b"), ("49.65.250.136", "a"))
    )
    assert one == again
    assert len({one, other_agent, neighbour}) == 3
    assert len(one) == 16


def test_who_has_no_address_is_no_visitor():
    assert stored(hit=a_hit(ip=None)).visitor == ""


def test_names_of_visitors_depend_on_the_key():
    keys = b"a" * 32, b"b" * 32
    assert len({pseudonym(IP, key) for key in keys}) == 2
    assert len({visitor(IP, "", key) for key in keys}) == 2


# Who asks not to be known, and where nobody is to be


@pytest.mark.parametrize("how", [{"opted_out": True}, {"sensitive": True}])
def test_of_nobody_it_is_only_known_that_there_was_a_request(how):
    hit = stored(hit=a_hit(ip=IP, user_id=7, user_agent="Mozilla/5.0"), **how)
    assert (hit.ip, hit.user_id, hit.user_agent, hit.visitor) == (None, None, "", "")
    assert (hit.status, hit.duration_ms, hit.is_bot) == (200, 1.5, False)


@pytest.mark.parametrize("how", [{"opted_out": True}, {"sensitive": True}])
def test_no_task_and_no_log_line_tells_which_request_it_was(how):
    request = a_hit(task_ids="7,8")
    hit = stored(hit=request, **how)
    assert hit.task_ids == ""
    assert hit.id != request.id
    assert len(hit.id) == 32


def test_of_nobodys_bot_it_is_still_known_that_it_was_one():
    assert stored(hit=a_hit(user_agent="curl/8"), opted_out=True).is_bot is True


def test_of_a_sensitive_view_neither_path_nor_query_nor_referrer_is_known(configure):
    configure(QUERY_PARAMS=["q"])
    hit = a_hit("/clinic/hiv/", route="clinic/<slug>/", referer="https://a.example/b")
    kept = protect(hit, current_policy(), query="q=1", sensitive=True)
    assert (kept.path, kept.query, kept.referer) == ("/clinic/<slug>/", "", "")


# Texts


def test_a_query_is_kept_as_far_as_it_is_allowed(configure):
    configure(QUERY_PARAMS=["q", "utm_*"])
    assert protect(a_hit(), current_policy(), query="q=tea&token=x&utm_source=wx").query == "q=tea&utm_source=wx"


def test_a_query_is_cut_to_its_column(configure):
    configure(QUERY_PARAMS=["q"])
    assert len(protect(a_hit(), current_policy(), query="q=" + "x" * 300).query) == 255


def test_no_query_is_kept_by_default():
    assert stored(query="q=tea").query == ""


@pytest.mark.parametrize(
    ("referer", "kept"),
    [
        ("https://example.com/products/tea/", "/products/tea/"),
        ("https://EXAMPLE.com/", "/"),
        ("https://example.com", "/"),
        ("https://example.com/confirm/9f86d081884c/now/", "/confirm/***/now/"),
        ("https://example.com/%E8%8C%B6/%00", "/茶/\ufffd"),
        ("https://example.com:8000/a", "/a"),
        ("https://www.example.com/confirm/9f86d081884c/now/", "/confirm/***/now/"),
        ("https://other.example/confirm/9f86d081884c/now/", "https://other.example/confirm/9f86d081884c/now/"),
        ("not a page", "not a page"),
        ("", ""),
    ],
)
def test_a_page_of_the_same_site_is_its_path_without_secrets(referer, kept):
    assert stored(hit=a_hit(referer=referer, host="example.com")).referer == kept


@pytest.mark.parametrize("allowed", ["shop.example", ".shop.example", "www.shop.example", "SHOP.example"])
@pytest.mark.parametrize("host", ["", "backend:8000"])
def test_a_page_on_an_allowed_host_is_the_sites_own_whatever_host_the_request_named(site, host, allowed):
    site.ALLOWED_HOSTS = ["*", allowed]
    hit = a_hit(referer="https://www.shop.example:8443/confirm/9f86d081884c/now/", host=host)
    assert stored(hit=hit).referer == "/confirm/***/now/"


@pytest.mark.parametrize("other", ["evilshop.example", "shop.example.evil.example", "sub.shop.example", ""])
def test_a_host_that_is_only_like_an_allowed_one_is_another_site(site, other):
    site.ALLOWED_HOSTS = ["shop.example", "*"]
    hit = a_hit(referer=f"https://{other}/a", host="")
    assert stored(hit=hit).referer == f"https://{other}/a"


def test_secrets_in_the_path_are_masked():
    hit = a_hit("/confirm/9f86d081884c/now/", route="confirm/<str:token>/now/")
    assert stored(hit=hit, secrets=["9f86d081884c"]).path == "/confirm/***/now/"
