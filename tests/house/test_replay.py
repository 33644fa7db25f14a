"""Lines of a web server's log become requests."""

from pathlib import Path

import pytest

from testproject.demo import replay
from testproject.demo.client import Answer, Client

LINE = '203.0.113.9 - - [17/May/2015:10:05:03 +0000] "GET /a%20b?c=d HTTP/1.1" 200 12 "http://example.com/" "Agent/1"\n'


class NotingClient(Client):
    """Notes what it is asked to send."""

    def __init__(self):
        super().__init__(port=0)
        self.sent = []

    def request(self, visitor, path, *, method="GET", form=None, referrer=""):
        self.sent.append((visitor.address, visitor.agent, method, path, referrer))
        return Answer(200, "", "")


def sent(tmp_path: Path, text: str):
    path = tmp_path / "access.log"
    path.write_text(text)
    log = replay.read(path)
    client = NotingClient()
    for visit in log.visits:
        visit(client)
    return log, client.sent


def test_a_line_gives_address_agent_method_target_and_referrer(tmp_path):
    _, requests = sent(tmp_path, LINE)
    assert requests == [("203.0.113.9", "Agent/1", "GET", "/a%20b?c=d", "http://example.com/")]


def test_a_dash_is_nothing(tmp_path):
    _, requests = sent(tmp_path, LINE.replace("http://example.com/", "-").replace("Agent/1", "-"))
    assert requests == [("203.0.113.9", "", "GET", "/a%20b?c=d", "")]


def test_a_line_without_referrer_and_agent_is_a_request(tmp_path):
    _, requests = sent(tmp_path, '2001:db8::1 - - [x] "HEAD / HTTP/1.0" 200 -\n')
    assert requests == [("2001:db8::1", "", "HEAD", "/", "")]


def test_a_line_that_was_cut_in_the_agent_is_a_request(tmp_path):
    log, requests = sent(tmp_path, LINE[:-4] + "\n")
    assert (log.bad_lines, requests[0][1]) == (0, "Agent")


def test_a_quote_within_the_agent_is_kept(tmp_path):
    _, requests = sent(tmp_path, LINE.replace("Agent/1", 'Agent \\"1\\"'))
    assert requests[0][1] == 'Agent \\"1\\"'


@pytest.mark.parametrize(
    "line",
    [
        "not a log line\n",
        LINE.replace("GET /", "GET "),
        LINE.replace("GET /a%20b", "GET /a b"),
        LINE.replace("203.0.113.9", "<script>"),
        "\x00\x16\x03\x01\n",
    ],
)
def test_what_is_no_request_is_counted_and_not_sent(tmp_path, line):
    log, requests = sent(tmp_path, line + LINE)
    assert (log.bad_lines, len(requests)) == (1, 1)


def test_empty_lines_are_not_counted(tmp_path):
    log, _ = sent(tmp_path, "\n" + LINE + "\n")
    assert (log.bad_lines, len(log.visits), log.addresses) == (0, 1, 1)


def test_a_header_never_holds_a_line_break(tmp_path):
    _, requests = sent(tmp_path, LINE.replace("Agent/1", "Agent\x0b1\u20ac"))
    assert requests[0][1] == "Agent?1?"
