"""Who the client is: the table of ACCESSLOG 4.2, its rules, and what scanners send."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from django_locqueue.accesslog.client_ip import Trust, client_ip

NETWORKS = ("10.0.0.0/8", "127.0.0.0/8", "::1", "203.0.113.0/24", "fd00::/8")
XFF = "HTTP_X_FORWARDED_FOR"
FORWARDED = "HTTP_FORWARDED"
PROXY = "10.0.0.5"


def ask(remote: Any, header: Any = None, *, networks: Any = NETWORKS, count: Any = None, key: str = XFF) -> str | None:
    meta = {} if remote is None else {"REMOTE_ADDR": remote}
    if header is not None:
        meta[key] = header
    return client_ip(meta, Trust.parse(networks, count, key))


@pytest.mark.parametrize(
    ("remote", "header", "answer"),
    [
        pytest.param("198.51.100.7", None, "198.51.100.7", id="1 no proxy"),
        pytest.param("198.51.100.7", "1.2.3.4", "198.51.100.7", id="2 not from a proxy"),
        pytest.param(PROXY, "49.65.250.135", "49.65.250.135", id="3 one proxy"),
        pytest.param(PROXY, "1.2.3.4, 49.65.250.135", "49.65.250.135", id="4 forged first"),
        pytest.param(PROXY, "49.65.250.135, 203.0.113.9", "49.65.250.135", id="5 CDN then balancer"),
        pytest.param(PROXY, "6.6.6.6, 49.65.250.135, 203.0.113.9, 10.0.0.9", "49.65.250.135", id="6 forged, long"),
        pytest.param(PROXY, "10.0.0.7", "10.0.0.7", id="7 internal client"),
        pytest.param(PROXY, "", PROXY, id="8 empty"),
        pytest.param(PROXY, "unknown", PROXY, id="9 unknown"),
        pytest.param(PROXY, "49.65.250.135:51234", "49.65.250.135", id="11 port"),
        pytest.param(PROXY, "[2400:3200::1]:443", "2400:3200::1", id="12 brackets and port"),
        pytest.param(PROXY, "2400:3200::1", "2400:3200::1", id="13 IPv6"),
        pytest.param(PROXY, "::ffff:49.65.250.135", "49.65.250.135", id="14 mapped"),
        pytest.param("::ffff:10.0.0.5", "49.65.250.135", "49.65.250.135", id="15 dual-stack socket"),
        pytest.param(PROXY, "<script>alert(1)</script>", PROXY, id="18 script"),
        pytest.param(PROXY, "49.65.250.135,,", PROXY, id="19 hops that cannot be known"),
        pytest.param(PROXY, "2130706433", PROXY, id="21 decimal"),
        pytest.param("", "49.65.250.135", None, id="29 socket file, not trusted"),
        # More than the table.
        pytest.param(PROXY, "1.2.3.4, garbage, 203.0.113.9", "203.0.113.9", id="stops at garbage"),
        pytest.param(PROXY, "6.6.6.6, 10.0.0.8, 10.0.0.7", "6.6.6.6", id="through two own hops"),
        pytest.param(PROXY, "6.6.6.6,49.65.250.135\t", "49.65.250.135", id="tab"),
        pytest.param(PROXY, "49.65.250.135\x00", PROXY, id="NUL"),
        pytest.param(PROXY, b"49.65.250.135", PROXY, id="bytes"),
        pytest.param(PROXY, "fe80::1%eth0", "fe80::1", id="zone"),
        pytest.param(PROXY, "[fe80::1%25eth0]:1", "fe80::1", id="zone in brackets"),
        pytest.param(PROXY, "2001:0DB8:0:0::1", "2001:db8::1", id="canonical"),
        pytest.param(PROXY, "1.2.3.4:http", PROXY, id="port is no number"),
        pytest.param(PROXY, "[1.2.3.4", PROXY, id="open bracket"),
        pytest.param(PROXY, "01.02.03.04", PROXY, id="octal"),
        pytest.param(PROXY, "127.1", PROXY, id="short"),
        pytest.param(PROXY, "１.２.３.４", PROXY, id="other digits"),
        pytest.param("fd00::5", "2400:3200::1", "2400:3200::1", id="IPv6 proxy"),
        pytest.param(None, "49.65.250.135", None, id="no REMOTE_ADDR"),
        pytest.param("unknown", "49.65.250.135", None, id="REMOTE_ADDR is garbage"),
    ],
)
def test_the_client_is_the_first_hop_from_the_right_that_is_not_ours(remote, header, answer):
    assert ask(remote, header) == answer


@pytest.mark.parametrize(
    ("header", "answer"),
    [
        pytest.param("for=49.65.250.135;proto=https;by=203.0.113.43", "49.65.250.135", id="23"),
        pytest.param('For="[2400:3200::1]:4711"', "2400:3200::1", id="24"),
        pytest.param("for=6.6.6.6, for=49.65.250.135;by=10.0.0.5", "49.65.250.135", id="25"),
        pytest.param('for="unknown"', PROXY, id="27"),
        pytest.param("for=_hidden", PROXY, id="obfuscated"),
        pytest.param("proto=https", PROXY, id="no for"),
        pytest.param('for="49.65.250.135:80"', "49.65.250.135", id="quoted port"),
        pytest.param("for=49.65.250.135;for=6.6.6.6", PROXY, id="twice in one hop"),
        pytest.param('for="6.6.6.6', PROXY, id="open quote"),
        pytest.param('for=6.6.6.6;x=", for=49.65.250.135', "49.65.250.135", id="the client leaves a quote open"),
        pytest.param('for=6.6.6.6;x=", for="[2400:3200::1]"', "2400:3200::1", id="and we quote"),
        pytest.param("for=49.65.250.135 by=1", PROXY, id="no semicolon"),
        pytest.param("49.65.250.135", PROXY, id="not RFC 7239"),
    ],
)
def test_forwarded_is_read_after_rfc_7239(header, answer):
    assert ask(PROXY, header, key=FORWARDED) == answer


@pytest.mark.parametrize(
    ("remote", "count", "header", "answer"),
    [
        pytest.param(PROXY, 1, "1.2.3.4, 49.65.250.135", "49.65.250.135", id="30"),
        pytest.param(PROXY, 2, "6.6.6.6, 49.65.250.135, 203.0.113.9", "49.65.250.135", id="31"),
        pytest.param("198.51.100.7", 0, "1.2.3.4", "198.51.100.7", id="33"),
        pytest.param(PROXY, 2, "1.2.3.4", PROXY, id="fewer hops than proxies"),
        pytest.param(PROXY, 1, None, PROXY, id="no header"),
        pytest.param(PROXY, 2, "1.2.3.4, garbage", PROXY, id="garbage among them"),
        pytest.param("", 1, "1.2.3.4, 49.65.250.135", "49.65.250.135", id="socket file"),
        pytest.param(PROXY, True, "1.2.3.4", PROXY, id="a count that is no number"),
    ],
)
def test_with_n_proxies_the_client_is_entry_n_from_the_right(remote, count, header, answer):
    assert ask(remote, header, networks=(), count=count) == answer


@pytest.mark.parametrize("remote", ["", "unix:", "unix:/run/site.sock", None])
def test_a_socket_file_is_trusted_if_it_is_listed(remote):
    assert ask(remote, "49.65.250.135", networks=("unix:",)) == "49.65.250.135"


def test_a_listed_socket_file_does_not_make_an_address_trusted():
    assert ask("198.51.100.7", "1.2.3.4", networks=("unix:",)) == "198.51.100.7"


def test_behind_a_socket_file_garbage_is_nobody():
    assert ask("", "garbage", networks=("unix:",)) is None


def test_i6_nothing_is_trusted_by_default():
    assert ask("198.51.100.7", "1.2.3.4", networks=()) == "198.51.100.7"


def test_only_the_configured_header_counts():
    meta = {"REMOTE_ADDR": PROXY, XFF: "1.2.3.4", FORWARDED: "for=5.6.7.8", "HTTP_CF_CONNECTING_IP": "9.9.9.9"}
    assert client_ip(meta, Trust.parse(NETWORKS, None, FORWARDED)) == "5.6.7.8"


def test_i6_a_client_that_bypasses_the_cdn_cannot_name_itself():
    assert ask("198.51.100.7", "1.2.3.4", key="HTTP_CF_CONNECTING_IP") == "198.51.100.7"


def test_a_list_in_x_real_ip_is_read_from_the_right():
    assert ask(PROXY, "1.2.3.4, 49.65.250.135", key="HTTP_X_REAL_IP") == "49.65.250.135"


def test_of_five_hundred_hops_the_right_one_is_found():
    assert ask(PROXY, ", ".join(["6.6.6.6"] * 500 + ["49.65.250.135"])) == "49.65.250.135"


def test_an_address_cut_by_the_length_limit_is_not_taken_for_another():
    # 4,096 characters end within the left-most hop and leave "9.65.250.135" of it, which is an address too. With all
    # other hops ours, and few enough of them, it would be the client.
    hop = "10.0.0.7".rjust(130)
    header = "49.65.250.135," + ",".join([hop] * 31)
    header = header[:14] + " " * (4096 + 1 - len(header)) + header[14:]
    assert len(header) == 4097
    assert ask(PROXY, header) != "9.65.250.135"


def test_one_endless_hop_is_nobody():
    assert ask(PROXY, "1.2.3.4" * 5000) == PROXY


def test_more_own_hops_than_the_limit_end_at_the_limit():
    assert ask(PROXY, "6.6.6.6, " + ", ".join(["10.0.0.7"] * 40)) == "10.0.0.7"


def test_a_wrong_network_in_the_settings_is_not_trusted():
    assert ask(PROXY, "1.2.3.4", networks=("10.0.0.0/33", 7, None)) == PROXY


def test_a_network_written_as_one_text_is_one_network():
    assert ask(PROXY, "1.2.3.4", networks="10.0.0.0/8") == "1.2.3.4"


@pytest.mark.parametrize(
    "remote",
    [None, "", "unknown", "b''", "_hidden", "localhost", "${jndi:ldap://x}", "x" * 4096, "999.1.1.1", "01.02.03.04", 7],
)
def test_i1_garbage_in_remote_addr_is_no_address(remote):
    assert ask(remote, networks=()) is None


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("2001:db8::1", "2001:db8::1"),
        ("2001:0DB8:0:0::1", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("::ffff:8.8.8.8", "8.8.8.8"),
        ("fe80::1%eth0", "fe80::1"),
        ("::1", "::1"),
        ("64:ff9b::808:808", "64:ff9b::808:808"),
    ],
)
def test_i7_each_address_has_one_form(text, canonical):
    assert ask(text, networks=()) == canonical


@given(
    remote=st.one_of(st.none(), st.text(), st.binary(), st.ip_addresses().map(str)),
    header=st.one_of(st.none(), st.text(), st.binary(), st.lists(st.ip_addresses().map(str)).map(", ".join)),
    key=st.sampled_from([XFF, FORWARDED]),
    networks=st.sampled_from([(), NETWORKS, ("unix:",), ("0.0.0.0/0", "::/0", "unix:")]),
    count=st.sampled_from([None, 0, 1, 3]),
)
def test_no_input_raises(remote, header, key, networks, count):
    answer = ask(remote, header, networks=networks, count=count, key=key)
    assert answer is None or ask(answer, networks=()) == answer
