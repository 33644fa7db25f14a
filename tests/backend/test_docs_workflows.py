"""The examples of docs/tasks.md about workflows run as they stand."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from django_locqueue.models import State, Task
from tests.running import our_backend, run_next

pytestmark = pytest.mark.django_db(transaction=True)

DOCS = Path(__file__).parents[2].joinpath("docs/tasks.md").read_text()


def test_the_examples_of_workflows_do_what_they_say(monkeypatch, capsys):
    section = DOCS.partition("\n## Workflows\n")[2].partition("\n## ")[0]
    definitions, enqueue, look, failing = re.findall(r"^```python\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    module = ModuleType("docs_workflows")
    monkeypatch.setitem(sys.modules, "docs_workflows", module)

    def run(block: str) -> None:
        exec(compile(block, "docs/tasks.md", "exec"), vars(module))
        while Task.objects.filter(state=State.READY).exists():
            run_next()

    run(definitions)
    run(enqueue)
    run(look)
    assert capsys.readouterr().out == "step 3 of 3, 4 of 4 tasks have ended\n"
    assert list(module.result.results()) == [["invoice-7.pdf", "label-7.pdf"]]
    assert our_backend().get_workflow(module.result.id).state == "successful"  # it had ended before the cancel
    run(failing)
    assert Task.objects.last().return_value == ["invoice-7.pdf", "label-7.pdf"]
