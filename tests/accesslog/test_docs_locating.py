"""The example of docs/accesslog.md about locating runs as it stands."""

import re
from pathlib import Path

import pytest

from django_locqueue.accesslog.models import Location
from django_locqueue.models import Task

DOCS = Path(__file__).parents[2].joinpath("docs/accesslog.md").read_text()


@pytest.mark.django_db
def test_the_example_has_failed_lookups_tried_again():
    section = DOCS.partition("\n## How a network is located\n")[2].partition("\n## ")[0]
    [example] = re.findall(r"^```python\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    Location.objects.create(prefix="49.65.250.0/24", state="failed")
    Location.objects.create(prefix="1.1.1.0/24", state="located")
    names = {}
    exec(compile(example, "docs/accesslog.md", "exec"), names)
    assert names["count"] == 1
    assert Task.objects.get().args_kwargs == {"args": [], "kwargs": {"private_prefixes": ["49.65.250.0/24"]}}
