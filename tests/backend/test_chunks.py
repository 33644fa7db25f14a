"""What a definition that runs in chunks may be, and how its calls are stored."""

import re
import sys
from datetime import timedelta
from pathlib import Path
from types import ModuleType

import pytest
from django.utils import timezone

from django_locqueue import Unique, compat, task
from django_locqueue.models import State, Task
from django_locqueue.policies.chunk import WAIT_SECONDS
from django_locqueue.policies.outcome import Kind
from django_locqueue.policies.terms import Terms, load_terms
from tests import chunked_tasks, tasks
from tests.running import row, run_chunk


def define(**options):
    return task(chunked_tasks.note.func, **{"chunk": 10, **options})


def test_a_function_that_takes_more_than_the_list_is_refused():
    with pytest.raises(compat.InvalidTask, match=r"called with one list of calls .* signature is add\(a: int"):
        task(tasks.add.func, chunk=10)


def test_chunk_and_atomic_are_refused_with_what_to_do():
    with pytest.raises(compat.InvalidTask, match=r"Open transaction.atomic\(\) in the function"):
        define(atomic=True)


def test_of_a_chunk_only_one_may_run_at_once_under_a_limit():
    with pytest.raises(compat.InvalidTask, match="concurrency can only be 1: its calls run as one; got 2"):
        define(concurrency=2)
    assert define(concurrency=1).concurrency == 1


def test_other_options_go_together_with_chunk():
    define(max_attempts=5, timeout=30, rate_limit="10/s", keep_result=False, backoff=10)


def test_a_wait_of_no_seconds_is_one():
    assert define(chunk_wait=0).chunk_wait == 0


@pytest.mark.django_db
def test_a_call_waits_for_its_turn_under_its_definition():
    stored = row(define().enqueue(1))
    assert (stored.state, stored.limit_key) == (State.BLOCKED, "k:tests.chunked_tasks.note")
    assert load_terms(stored.terms) == Terms(chunk=10, chunk_wait=WAIT_SECONDS)


@pytest.mark.django_db
def test_under_a_rate_it_waits_for_that():
    stored = row(define(rate_limit="10/s", rate_key="amap", chunk_wait=1).enqueue(1))
    assert stored.limit_key == "r:amap"
    assert load_terms(stored.terms) == Terms(chunk=10, chunk_wait=1, rate_key="amap", rate_limit=10, rate_seconds=1.0)


@pytest.mark.django_db
def test_a_key_is_made_of_what_each_call_passes():
    definition = define(concurrency=1, concurrency_key="shop-{shop}-{0}")
    assert row(definition.enqueue(7, shop="b")).limit_key == "c:shop-b-7"
    with pytest.raises(TypeError, match="that this call does not pass"):
        definition.enqueue(7)


@pytest.mark.django_db
def test_an_argument_that_json_cannot_hold_is_named_by_its_place():
    with pytest.raises(TypeError, match=r"args\[1\]"):
        define().enqueue(1, object())


@pytest.mark.django_db(transaction=True)
def test_the_example_in_the_docs_runs(monkeypatch):
    section = Path(__file__).parents[2].joinpath("docs/tasks.md").read_text().partition("## Chunks")[2]
    module = ModuleType("geo_tasks")
    monkeypatch.setitem(sys.modules, "geo_tasks", module)
    for block in re.findall(r"^```python\n(.*?)^```", section.partition("\n## ")[0], re.DOTALL | re.MULTILINE):
        exec(compile(block, "docs/tasks.md", "exec"), vars(module))
    Task.objects.update(run_after=timezone.now() - timedelta(minutes=1))  # they have waited for others
    outcomes = [member.outcome for member in run_chunk()]
    assert [(outcome.kind, outcome.return_value) for outcome in outcomes] == [
        (Kind.SUCCESSFUL, '"Sydney"'),
        (Kind.SUCCESSFUL, '"Xi\'an"'),
        (Kind.RETRIED, None),
    ]


@pytest.mark.django_db
def test_the_calls_of_a_chunk_can_be_unique():
    definition = define(unique=Unique("{0}"))
    first, again, other = (definition.enqueue(number) for number in (1, 1, 2))
    assert (again.id, again.is_duplicate, other.id == first.id) == (first.id, True, False)
    assert row(first).state == State.BLOCKED


@pytest.mark.parametrize("options", [{"on_conflict": "merge"}, {"unique_items": "ids"}])
def test_a_chunk_has_no_list_that_could_be_merged_or_trimmed(options):
    with pytest.raises(compat.InvalidTask, match="need a function that names its list"):
        define(unique=Unique("all", **options))


@pytest.mark.django_db
def test_what_expires_waits_for_a_chunk_too():
    assert load_terms(row(define(expires=60).enqueue(1)).terms) == Terms(chunk=10, chunk_wait=0.5, expires=60.0)
