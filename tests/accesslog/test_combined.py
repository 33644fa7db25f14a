"""Lines of web servers' logs, read and written."""

import datetime
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from django_locqueue.accesslog import hit as limits
from django_locqueue.accesslog.files.combined import BadLine, read, written
from django_locqueue.accesslog.models import AccessLog

LINE = (
    '49.65.250.135 - alice [17/May/2015:10:05:03 +0000] "GET /a/b?c=d HTTP/1.1" 200 12 '
    '"http://example.com/page?q=1" "Agent/1"'
)


def test_a_line_in_combined_format_tells_all_of_a_request():
    hit = read(LINE)
    assert (hit.ip, hit.method, hit.path, hit.query, hit.status, hit.bytes, hit.referer, hit.user_agent) == (
        *("49.65.250.135", "GET", "/a/b", "c=d", 200, 12),
        *("http://example.com/page", "Agent/1"),
    )
    assert hit.time == datetime.datetime(2015, 5, 17, 10, 5, 3, tzinfo=datetime.UTC).timestamp()


def test_a_line_in_common_format_has_no_referrer_and_no_agent():
    hit = read('2001:db8::1 - - [17/May/2015:10:05:03 +0000] "HEAD / HTTP/1.0" 304 -')
    assert (hit.ip, hit.method, hit.bytes, hit.referer, hit.user_agent) == ("2001:db8::1", "HEAD", None, "", "")


def test_a_name_and_port_in_front_is_the_host():
    hit = read(f"shop.example.com:443 {LINE}")
    assert (hit.host, hit.ip) == ("shop.example.com", "49.65.250.135")


def test_nobody_is_logged_in_because_a_client_claims_it():
    assert read(LINE).user_id is None


@pytest.mark.parametrize(
    ("rest", "duration_ms"),
    [
        ("", 0.0),
        (" 0.043", 43.0),  # nginx, $request_time
        (" 43000", 43.0),  # Apache, %D
        (' "203.0.113.9"', 0.0),  # nginx's own "main" format
        (" rt=0.043", 0.0),
        (" -", 0.0),
    ],
)
def test_a_number_alone_after_the_agent_is_the_duration(rest, duration_ms):
    assert read(LINE + rest).duration_ms == duration_ms


@pytest.mark.parametrize(
    ("zone", "hour"), [("+0000", 10), ("+0800", 2), ("-0330", 13), ("+0530", 4)], ids=lambda value: str(value)
)
def test_times_are_those_of_their_zone(zone, hour):
    time = datetime.datetime.fromtimestamp(read(LINE.replace("+0000", zone)).time, datetime.UTC)
    assert (time.day, time.hour) == (17, hour)


def test_a_leap_second_is_the_first_of_the_next_minute():
    assert read(LINE.replace("10:05:03", "10:05:60")).time == read(LINE.replace("10:05:03", "10:06:00")).time


@pytest.mark.parametrize(
    ("logged", "text"),
    [
        (r"\"quoted\" \\ \t", '"quoted" \\ \t'),  # Apache
        (r"\x22quoted\x22 \xe6\x9d\xad\xe5\xb7\x9e", '"quoted" 杭州'),  # nginx
        ("杭州", "杭州"),
        (r"\xff", "\ufffd"),
        ("-", ""),
    ],
)
def test_what_a_server_escaped_is_itself_again(logged, text):
    assert read(LINE.replace("Agent/1", logged)).user_agent == text


def test_a_last_quote_may_be_missing():
    assert read(LINE[:-3]).user_agent == "Agent"


def test_a_path_is_what_a_view_would_have_seen():
    assert read(LINE.replace("/a/b", "/%E6%9D%AD%20%ff")).path == "/杭 %FF"


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("http://other.example/x?y", "/x"),
        ("http://other.example", "/"),
        ("*", "*"),
        ("example.com:443", "example.com:443"),
    ],
)
def test_a_target_need_not_be_a_path(target, path):
    assert read(LINE.replace("/a/b?c=d", target)).path == path


def test_a_target_may_have_a_space_that_the_client_forgot_to_escape():
    assert read(LINE.replace("/a/b?c=d", "/a b")).path == "/a b"


def test_a_request_without_a_protocol_is_one():
    assert read(LINE.replace(" HTTP/1.1", "")).path == "/a/b"


def test_an_address_that_was_not_logged_is_not_known():
    assert read(LINE.replace("49.65.250.135", "-")).ip is None


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("not a log line", "expected: address"),
        (LINE.replace("[17/May", "17/May"), "expected: address"),
        (LINE.replace("200 12", "OK 12"), "expected: address"),
        (LINE.replace("49.65.250.135", "somebody.example.com"), "expected an IP address, got 'somebody.example.com'"),
        (LINE.replace("May", "Mai"), "expected a date like 17/May/2015, got 17/Mai/2015"),
        (LINE.replace("17/May", "31/Feb"), "expected a date"),
        (LINE.replace("2015", "0001"), "expected a date"),
        (LINE.replace("2015", "9999"), "expected a date"),
        (LINE.replace("10:05:03", "24:05:03"), "expected a time of day, got 24:05:03"),
        (LINE.replace("GET /a/b?c=d HTTP/1.1", "-"), "expected a request"),
        (LINE.replace("GET /a/b?c=d HTTP/1.1", r"\x16\x03\x01"), r"expected a request like .*, got '\\\\x16"),
        (LINE.replace("GET /a/b?c=d HTTP/1.1", ""), "expected a request"),
    ],
)
def test_what_is_no_request_says_why(line, reason):
    with pytest.raises(BadLine, match=reason):
        read(line)


@given(st.text())
def test_no_line_whatever_raises_anything_else(line):
    with suppress(BadLine):
        read(line)


@given(st.text(alphabet=r'"\ [-]xaGET/:0 1', max_size=300))
def test_nor_does_one_in_the_place_of_a_request_an_agent_or_a_date(text):
    for known in ("GET /a/b?c=d HTTP/1.1", "Agent/1", "17/May/2015:10:05:03 +0000"):
        with suppress(BadLine):
            read(LINE.replace(known, text))


# What a column of the log may hold: cut texts, no U+0000, no half of a surrogate pair.
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=60)
rows = st.builds(
    AccessLog,
    time=st.integers(31_536_000, 4_000_000_000).map(lambda time: datetime.datetime.fromtimestamp(time, datetime.UTC)),
    user_id=st.none() | st.integers(),
    method=st.sampled_from(["GET", "POST", "VERSION-CONTROL"]),
    path=texts.map(lambda text: f"/{text}"),
    query=st.sampled_from(["", "q=1&r=%20", "q=杭州"]),
    status=st.integers(100, 599),
    bytes=st.none() | st.integers(0, limits.MAX_BIGINT),
    user_agent=texts.filter(lambda text: text != "-"),
    referer=st.sampled_from(["", 'http://example.com/a"\\b 杭', "/own/page"]),
)


@given(rows, st.ip_addresses().map(str))
def test_what_is_written_is_read_again(row, ip):
    line = written(row, ip)
    assert line.isascii()
    assert line.isprintable()
    hit = read(line)
    assert (hit.time, hit.method, hit.path, hit.query, hit.status, hit.bytes, hit.user_agent, hit.referer) == (
        *(row.time.timestamp(), row.method, row.path, row.query, row.status, row.bytes),
        *(row.user_agent, row.referer),
    )
