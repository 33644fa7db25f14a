"""The examples of the section on privacy can be copied."""

import re
from pathlib import Path

import pytest
from django.core import checks

from django_locqueue.accesslog.models import AccessLog
from django_locqueue.accesslog.storage import to_row
from tests.accesslog.conftest import a_hit

PAGE = (Path(__file__).parents[3] / "docs/accesslog.md").read_text()
[SECTION] = re.findall(r"^## Privacy\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
SETTINGS, FORGETTING = re.findall(r"^```python\n(.*?)^```", SECTION, re.DOTALL | re.MULTILINE)


def run(example):
    names = {}
    exec(compile(example, "docs/accesslog.md", "exec"), names)
    return names


def test_the_settings_are_right(site):
    site.LOCQUEUE = run(SETTINGS)["LOCQUEUE"]
    found = [message for message in checks.run_checks(databases=[]) if str(message.id).startswith("locqueue_accesslog")]
    assert found == []


@pytest.mark.django_db
def test_the_example_forgets_a_user_and_an_address():
    for number, fields in enumerate(({"user_id": 7}, {"ip": "203.0.113.9"})):
        to_row(a_hit(id=str(number), **fields)).save()
    run(FORGETTING)
    assert list(AccessLog.objects.values_list("user", "ip")) == [(None, None)] * 2
