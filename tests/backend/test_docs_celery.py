"""docs/celery.md: its example runs, and what it names is there."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from django.core.management import get_commands, load_command_class

from django_locqueue.models import Task
from tests.running import run_next

DOCS = Path(__file__).parents[2].joinpath("docs/celery.md").read_text()


@pytest.mark.django_db(transaction=True)
def test_the_example_runs(monkeypatch, capsys):
    module = ModuleType("docs_celery")
    monkeypatch.setitem(sys.modules, "docs_celery", module)
    for block in re.findall(r"^```python\n(.*?)^```", DOCS, re.DOTALL | re.MULTILINE):
        exec(compile(block, "docs/celery.md", "exec"), vars(module))
    module.ask.enqueue("busy")
    for _ in range(3):
        run_next()
    assert capsys.readouterr().out == "The receipt of order 7 is on its way.\n"
    module.stored.refresh()
    assert module.stored.return_value == "why: answered at attempt 1"
    assert sorted(Task.objects.values_list("state", flat=True)) == ["scheduled"] * 2 + ["successful"] * 2


def test_each_command_and_option_is_there():
    runqueue = load_command_class("django_locqueue", "runqueue").create_parser("manage.py", "runqueue")
    known = {option for action in runqueue._actions for option in action.option_strings}
    assert set(re.findall(r"--[a-z][a-z-]+", DOCS)) <= known | {"--filter"}
    assert set(re.findall(r"`(queue_[a-z]+)", DOCS)) <= set(get_commands())
