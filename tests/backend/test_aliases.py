"""A task that was stored before its function was renamed runs the function that has its place now."""

import pickle

import pytest

from django_locqueue import compat, registry, task
from django_locqueue.definition import definition_at
from django_locqueue.models import State, Task
from tests import renamed_tasks, tasks
from tests.running import our_backend, row, run_next


@pytest.fixture
def stored(transactional_db):
    """Return a function that stores a task under a path of before and returns its result."""

    def store(path, *args):
        result = renamed_tasks.new_name.enqueue(*args)
        Task.objects.filter(pk=int(result.id)).update(task_path=path)
        return result

    return store


@pytest.mark.parametrize("path", renamed_tasks.new_name.aliases)
def test_a_task_of_an_old_path_runs_the_new_function(stored, path):
    result = stored(path, 21)
    run_next()
    assert row(result).return_value == 42


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("tests.renamed_tasks.old_async_name", "awaited"),
        ("tests.renamed_tasks.was_a_task", "in its place"),
    ],
)
def test_so_does_one_that_is_async_and_one_whose_old_function_is_still_there(stored, path, value):
    result = stored(path, 1)
    run_next()
    assert (row(result).state, row(result).return_value) == (State.SUCCESSFUL, value)


def test_its_result_names_the_present_definition(stored):
    result = stored("tests.gone_module.old_name", 1)
    found = our_backend().get_result(result.id)
    assert found.task.module_path == "tests.renamed_tasks.new_name"


def test_a_module_that_nobody_has_imported_yet_is_looked_for(monkeypatch):
    looked = []

    def autodiscover():
        looked.append(True)
        monkeypatch.setitem(registry._aliases, "shop.tasks.before", tasks.add.module_path)

    monkeypatch.setattr(registry, "autodiscover", autodiscover)
    assert definition_at("shop.tasks.before") is tasks.add
    assert looked


def test_a_path_of_today_asks_for_no_alias(monkeypatch):
    monkeypatch.setattr(registry, "autodiscover", lambda: pytest.fail("it looked for other definitions"))
    assert definition_at(tasks.add.module_path) is tasks.add


def defined(aliases, function=tasks.write_ledger):
    return task(aliases=aliases)(function)


@pytest.fixture(autouse=True)
def forget_definitions(monkeypatch):
    monkeypatch.setattr(registry, "_definitions", dict(registry._definitions))
    monkeypatch.setattr(registry, "_aliases", dict(registry._aliases))


def test_an_alias_of_two_definitions_is_refused():
    with pytest.raises(compat.InvalidTask, match=r"old_name of .*write_ledger is one of .*new_name too\. Remove it"):
        defined(["tests.renamed_tasks.old_name"])


def test_an_alias_that_is_itself_a_task_is_refused():
    with pytest.raises(compat.InvalidTask, match="is itself a task"):
        defined([tasks.add.module_path])
    with pytest.raises(compat.InvalidTask, match="is itself a task"):
        defined(["tests.tasks.write_ledger"])


def test_a_task_whose_path_is_an_alias_of_another_is_refused():
    defined(["tests.tasks._write_elsewhere"])
    with pytest.raises(compat.InvalidTask, match=r"is an alias of tests\.tasks\.write_ledger too"):
        task(tasks._write_elsewhere)


def test_a_module_that_is_loaded_again_claims_its_own():
    defined(["shop.tasks.before"])

    def write_ledger():
        """The same function, made anew."""

    write_ledger.__module__, write_ledger.__qualname__ = "tests.tasks", "write_ledger"
    again = defined(["shop.tasks.before", "shop.tasks.earlier"], write_ledger)
    assert definition_at("shop.tasks.before") is definition_at("shop.tasks.earlier") is again


@pytest.mark.parametrize("alias", ["", "nodots", "two words.here", "shop..task", ".task", 5, "x." + "y" * 300])
def test_what_is_no_path_is_refused(alias):
    with pytest.raises(compat.InvalidTask, match="aliases must hold paths such as"):
        defined([alias])


def test_a_definition_with_aliases_is_pickled_like_others():
    assert pickle.loads(pickle.dumps(renamed_tasks.new_name)) is renamed_tasks.new_name
