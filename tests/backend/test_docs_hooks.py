"""The examples of docs/tasks.md about hooks, signals, back-pressure, traces and commits run as they stand."""

import re
import sys
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType

import pytest
from django.core import checks
from django.dispatch import Signal

from django_locqueue import compat, pending_limit, registry, signals, task
from django_locqueue.models import Task
from django_locqueue.testing import run_tasks
from tests import retried_tasks, tasks
from tests.running import row, run_next

pytestmark = pytest.mark.django_db(transaction=True)

DOCS = Path(__file__).parents[2].joinpath("docs/tasks.md").read_text()


def section(title):
    return DOCS.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


@pytest.fixture
def example(monkeypatch):
    """Return a function that runs the Python blocks of a section in one module named ``shop.hooks``, and returns it."""
    monkeypatch.setattr(registry, "_definitions", dict(registry._definitions))
    monkeypatch.setattr(registry, "_aliases", dict(registry._aliases))

    def run(title, **names):
        module = ModuleType("shop.hooks")
        vars(module).update(names)
        monkeypatch.setitem(sys.modules, "shop", ModuleType("shop"))
        monkeypatch.setitem(sys.modules, "shop.hooks", module)
        sys.modules["shop"].hooks = module
        blocks = re.findall(r"^```python\n(.*?)^```", section(title), re.DOTALL | re.MULTILINE)
        assert blocks
        for block in blocks:
            exec(compile(block, "docs/tasks.md", "exec"), vars(module))
        return module

    return run


def test_a_tenant_travels_with_its_tasks(example, settings):
    entered = []
    module = example(
        "Hooks",
        current_tenant=lambda: "acme",
        closed_tenants=["old"],
        tenant=lambda name: entered.append(name) or nullcontext(),
    )
    settings.TASKS = module.TASKS
    assert checks.run_checks(databases=[]) == []
    result = tasks.add.enqueue(1, 2)
    assert row(result).metadata == {"tenant": "acme"}
    run_next()
    assert entered == ["acme"]
    closed = tasks.add.enqueue(1)
    Task.objects.filter(pk=int(closed.id)).update(metadata={"tenant": "old"})
    run_next()
    assert row(closed).state == "cancelled"


def test_a_retry_is_told(example, capsys):
    module = example("Signals")
    try:
        retried_tasks.fail_and_wait_30.enqueue()
        [run] = run_tasks()
    finally:
        signals.task_retried.disconnect(module.note_retry)
    assert capsys.readouterr().out == f"fail_and_wait_30 #{run.id} is tried again in 30 s: try again\n"


def test_all_signals_are_listed():
    ours = [name for name, value in vars(signals).items() if isinstance(value, Signal)]
    named = section("Signals")
    assert [name for name in [*ours, "task_enqueued", "task_started", "task_finished"] if name not in named] == []


def test_a_shop_whose_queue_is_full_says_so(example, settings, monkeypatch):
    monkeypatch.setattr(pending_limit, "LOOK_SECONDS", 3600)
    module = example("Back-pressure", send_receipt=tasks.echo.using(queue_name="mail"))
    limited = {**module.TASKS["default"], "OPTIONS": {"MAX_PENDING": {"mail": 1}}}
    assert module.TASKS["default"]["OPTIONS"].keys() == limited["OPTIONS"].keys()
    settings.TASKS = {"default": limited}
    assert [module.checkout(1), module.checkout(2)] == ["done", "busy: 1 of 1"]


def test_the_settings_for_traces_are_right(example, settings):
    settings.TASKS = example("Traces").TASKS
    assert checks.run_checks(databases=[]) == []
    compat.task_backends["default"].hooks  # noqa: B018 - it can be made


def test_both_calls_are_there_after_the_commit(example):
    example("On commit", send_receipt=task(tasks.echo.func))
    assert Task.objects.count() == 2
