"""The log of a task has a bound in lines and one in characters."""

import json

from django_locqueue.admin.payloads import WHOLE
from django_locqueue.policies.task_log import LENGTH, MESSAGE_LENGTH, Line, joined

LINES = [Line(1, float(number), "INFO", "shop", f"{number}" + "数" * (MESSAGE_LENGTH - 2)) for number in range(10, 60)]


def test_of_long_lines_the_last_are_kept_that_a_page_shows_whole():
    text = joined(None, 1, LINES, most=50)
    kept = [line["message"][:2] for line in json.loads(text)]
    assert LENGTH - 6 * MESSAGE_LENGTH - 200 < len(text) <= LENGTH < WHOLE
    assert kept == [str(number) for number in range(60 - len(kept), 60)]


def test_short_lines_are_counted():
    lines = [line._replace(message=line.message[:2]) for line in LINES]
    text = joined([{"claim": 1, "message": "earlier"}, {"claim": 0, "message": "before"}, "?"], 1, lines, most=51)
    assert [line["message"] for line in json.loads(text)] == ["before", *(line.message for line in lines)]
    assert json.loads(joined(None, 1, [], most=50)) == []
