"""The examples of docs/accesslog.md about requests do what they say."""

import re
from pathlib import Path

import pytest
from django.core import checks
from django.test import RequestFactory

from django_locqueue.accesslog.middleware import AccessLogMiddleware
from django_locqueue.accesslog.rules import Rules, current_rules

PAGE = (Path(__file__).parents[2] / "docs" / "accesslog.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def example(word):
    """Return the names that the block with this word makes."""
    [text] = [text for text in BLOCKS if word in text]
    names = {}
    exec(compile(text, "accesslog.md", "exec"), names)
    return names


def answers(view, path="/", **kwargs):
    return AccessLogMiddleware(lambda request: view(request, **kwargs))(RequestFactory().get(path))


def test_the_settings_can_be_copied(site):
    site.LOCQUEUE = example("EXCLUDE_VIEWS")["LOCQUEUE"]
    found = [message for message in checks.run_checks(databases=[]) if str(message.id).startswith("locqueue_accesslog")]
    assert found == []
    assert isinstance(current_rules(), Rules)


def test_a_request_can_leave_itself_out(hits):
    search = example("def diagnosis")["search"]
    for path in ("/?q=shoes", "/"):
        answers(search, path)
    assert len(hits) == 1


@pytest.mark.parametrize(("name", "mark"), [("product", "action"), ("diagnosis", "sensitive"), ("poll", "exclude")])
def test_views_are_marked(name, mark):
    assert getattr(example("def diagnosis")[name].locqueue_access_log, mark)


def test_the_header_has_the_id_of_the_row(hits):
    response = answers(example("def checkout")["checkout"])
    assert response["X-Request-ID"] == hits[0].id
