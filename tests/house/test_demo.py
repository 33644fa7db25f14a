"""What the demo is told, and what it tells."""

from io import StringIO

import pytest
from django.utils import timezone
from rich.console import Console

from django_locqueue.accesslog.analytics.stale import mark_stale
from django_locqueue.accesslog.models import AccessLog, Location
from testproject.demo import __main__ as demo
from testproject.demo import latency, report
from testproject.demo.account import Mark, draw_up
from testproject.demo.analytics import print_analytics
from testproject.demo.traffic import Orders


@pytest.mark.parametrize("text", ["# Read me\n", ""])
def test_a_log_without_requests_is_refused(tmp_path, capsys, text):
    log = tmp_path / "README.md"
    log.write_text(text)
    with pytest.raises(SystemExit) as refusal:
        demo.parse(["--log", str(log)])
    assert refusal.value.code == 2
    assert "README.md holds no request" in capsys.readouterr().err


def test_no_visits_are_none():
    options, _ = demo.parse(["--visits", "0"])
    assert demo.Demo(None, options, None, None).shop_visits() == []


def test_fewer_visits_than_none_are_refused():
    with pytest.raises(SystemExit):
        demo.parse(["--visits", "-1"])


def visit(ip, prefix, agent="Mozilla", **place):
    if place:
        Location.objects.get_or_create(prefix=prefix, defaults={"state": "located", **place})
    number = AccessLog.objects.count()
    AccessLog.objects.create(
        hit_id=f"{number:032x}",
        time=timezone.now(),
        ip=ip,
        location_id=prefix,
        method="GET",
        path="/",
        status=200,
        duration_ms=1,
        user_agent=agent,
    )


@pytest.fixture
def account(db):
    mark = Mark.now()
    visit("8.8.8.1", "8.8.8.0/24", country="美国", country_code="US", province="加利福尼亚")
    visit("2001:4860::1", "2001:4860::/48", country_code="US")
    visit("49.65.250.1", "49.65.250.0/24", country="中国", country_code="CN", province="江苏")
    visit("127.0.0.1", "127.0.0.0/24", agent=latency.VISITOR.agent)
    visit("127.0.0.1", "127.0.0.0/24")
    return draw_up(mark, [], Orders())


def test_what_compares_response_times_is_no_visitor(account):
    assert account.measured == 1


@pytest.mark.parametrize(
    ("milliseconds", "words"), [(-0.4, "not measurable"), (0.001, "not measurable"), (0.29, "+0.29 ms")]
)
def test_a_page_does_not_get_faster_by_being_recorded(milliseconds, words):
    assert report._difference(milliseconds) == words


@pytest.fixture
def console():
    return Console(file=StringIO(), width=120)


def test_the_demo_prints_the_analytics_as_tables(account, console):
    mark_stale(AccessLog.objects.values_list("time", flat=True))
    missing = []
    print_analytics(console, missing)
    assert missing == []
    lines = console.file.getvalue().splitlines()
    assert any(line.startswith(" 5 requests") for line in lines)
    assert any("Country" in line and "Province of China" in line for line in lines)  # side by side
    assert any("江苏" in line and "100.0%" in line for line in lines)


def test_counts_that_are_not_those_of_the_log_are_a_loss(account, console):
    missing = []
    print_analytics(console, missing)  # nothing said that an hour is stale
    assert missing == ["The analytics count 0 requests; in the log there are 5."]
