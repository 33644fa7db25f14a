"""The examples of docs/tasks.md about limits run as they stand."""

import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from django_locqueue import registry
from django_locqueue.models import Limit, Task
from django_locqueue.store.serve import Owner
from django_locqueue.worker.execution import Execution
from tests.running import our_backend, perform

pytestmark = pytest.mark.django_db(transaction=True)

DOCS = Path(__file__).parents[2].joinpath("docs/tasks.md").read_text()
TITLE = "Limits: so many at once, so many in a time"


@pytest.fixture
def example(monkeypatch):
    """Run the section's blocks in a module, with a service that says it is asked too often."""
    section = DOCS.partition(f"\n## {TITLE}\n")[2].partition("\n## ")[0]
    definitions, calls = re.findall(r"^```python\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    monkeypatch.setattr(registry, "_definitions", dict(registry._definitions))
    module = ModuleType("docs_limits")
    monkeypatch.setitem(sys.modules, "docs_limits", module)
    vars(module)["ask_amap"] = lambda address: SimpleNamespace(status=429, retry_after=60)
    exec(compile(definitions, "docs/tasks.md", "exec"), vars(module))
    exec(compile(calls, "docs/tasks.md", "exec"), vars(module))
    return module


def test_the_examples_of_limits_are_enqueued_and_run(example):
    assert sorted(Task.objects.values_list("limit_key", flat=True)) == [
        "c:shop-1",
        "c:shop-1",
        "c:shop-2",
        "r:amap",
    ]
    store = our_backend().store
    worker = store.register_worker("w", lease=60)
    claim = store.claim_limited(Owner(worker.pk, worker.name), 10)
    assert [task.limit_key for task in claim.tasks] == ["c:shop-1", "c:shop-2", "r:amap"]
    perform([Execution(task) for task in claim.tasks])
    assert Limit.objects.get(key="r:amap").paused_until is not None
    assert Task.objects.successful().count() == 2
