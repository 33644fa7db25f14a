"""Agents in two words."""

import pytest

from django_locqueue.accesslog.admin.programs import program

WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko)"


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        (f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {WEBKIT} Chrome/142.0.0.0 Safari/537.36", "Chrome / Windows"),
        (f"Mozilla/5.0 (Windows NT 10.0) {WEBKIT} Chrome/142.0.0.0 Safari/537.36 Edg/142.0", "Edge / Windows"),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox / Linux"),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
            "Version/18.0 Mobile/15E148 Safari/604.1",
            "Safari / iOS",
        ),
        (f"Mozilla/5.0 (Linux; Android 15) {WEBKIT} Chrome/130.0 Mobile MicroMessenger/8.0.50", "WeChat / Android"),
        ("Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 6.1)", "Internet Explorer / Windows"),
        ("curl/8.5.0", "curl"),
        ("python-requests/2.32", "python-requests"),
        ("Mozilla/5.0 (compatible; Examplebot/2.1)", "Mozilla"),
        ("", ""),
        ("()", "()"),
    ],
)
def test_an_agent_is_said_in_two_words(agent: str, words: str) -> None:
    assert program(agent) == words
