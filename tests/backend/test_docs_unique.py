"""The examples of docs/tasks.md about unique tasks run as they stand."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from django_locqueue import registry
from django_locqueue.models import Task

pytestmark = pytest.mark.django_db

DOCS = Path(__file__).parents[2].joinpath("docs/tasks.md").read_text()


def test_the_examples_of_unique_tasks_do_what_they_say(monkeypatch):
    section = DOCS.partition("\n## Unique tasks\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```python\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    monkeypatch.setattr(registry, "_definitions", dict(registry._definitions))
    module = ModuleType("docs_unique")
    monkeypatch.setitem(sys.modules, "docs_unique", module)
    for block in blocks:
        exec(compile(block, "docs/tasks.md", "exec"), vars(module))
    assert sorted(Task.objects.values_list("task_path", flat=True)) == [
        "docs_unique.fetch",
        "docs_unique.fetch",
        "docs_unique.refresh",
        "docs_unique.ship",
    ]
