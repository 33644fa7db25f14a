"""The examples of docs/tasks.md about pausing, cancelling, progress, expiry and deploys run as they stand."""

import re
import sys
from datetime import timedelta
from pathlib import Path
from types import ModuleType

import pytest
from django.utils import timezone

from django_locqueue import registry
from django_locqueue.models import Queue, State, Task
from django_locqueue.result import Progress
from tests.running import make_ready, our_backend, row, run_next

pytestmark = pytest.mark.django_db(transaction=True)

DOCS = Path(__file__).parents[2].joinpath("docs/tasks.md").read_text()


@pytest.fixture
def example(monkeypatch):
    """Return a function that gives the Python blocks of a section, and a module to run them in."""
    monkeypatch.setattr(registry, "_definitions", dict(registry._definitions))
    monkeypatch.setattr(registry, "_aliases", dict(registry._aliases))

    def read(title, **names):
        section = DOCS.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
        module = ModuleType("docs_example")
        vars(module).update(names)
        monkeypatch.setitem(sys.modules, "docs_example", module)
        blocks = re.findall(r"^```python\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
        assert blocks, f"docs/tasks.md has no examples under {title!r}"
        return module, [compile(block, "docs/tasks.md", "exec") for block in blocks]

    return read


def test_a_queue_is_paused_and_resumed(example):
    module, [block] = example("Pause and resume")
    exec(block, vars(module))
    assert Queue.objects.get(name="mail").paused_at is None


def test_a_task_is_cancelled_and_put_back(example):
    module, [definition, calls] = example("Cancel, and run again")
    exec(definition, vars(module))
    exec(calls, vars(module))
    assert row(module.result).state == State.READY
    assert row(module.result).error_message == "by alice: wrong month"


def test_an_import_goes_on_where_it_was(example):
    imported = []

    def import_page(number):
        imported.append(number)
        if imported == [0, 1, 2, 3]:
            raise OSError("the line is cut")

    module, [definition, calls] = example("Progress and metadata", import_page=import_page)
    exec(definition, vars(module))
    exec(calls, vars(module))
    run_next()
    module.result.refresh()
    assert module.result.progress == Progress(0.3, "page 3 of 10")
    make_ready(module.result)
    run_next()
    module.result.refresh()
    assert (module.result.return_value, module.result.progress.fraction) == (7, 1.0)
    assert imported == [0, 1, 2, 3, *range(3, 10)]


def test_a_price_that_nobody_waits_for_any_more_is_not_told(example):
    module, [definition] = example("Too late to start")
    exec(definition, vars(module))
    late, in_time = module.tell_price.enqueue("tea"), module.tell_price.enqueue("tea")
    hour_ago = timezone.now() - timedelta(hours=1)
    Task.objects.filter(pk=int(late.id)).update(enqueued_at=hour_ago, run_after=hour_ago)
    run_next(2)
    assert (row(late).state, row(in_time).state) == (State.CANCELLED, State.SUCCESSFUL)


def test_a_receipt_that_was_enqueued_before_the_deploy_is_sent(example):
    module, [definition] = example("Deploys")
    exec(definition, vars(module))
    result = module.send_receipt.enqueue(7)
    Task.objects.update(task_path="shop.tasks.mail_receipt")
    run_next()
    assert our_backend().get_result(result.id).return_value == "receipt 7"
