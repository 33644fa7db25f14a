"""What can be done to tasks by name, with options that a row can hold."""

from typing import Any

import pytest

from django_locqueue.models import Task
from django_locqueue.store import get_store
from django_locqueue.verbs import VERBS
from tests import tasks, unique_tasks

pytestmark = pytest.mark.django_db


def do(verb: str, *ids: Any, **options: Any) -> Any:
    return VERBS[verb](get_store(), [int(each) for each in ids], by="alice", reason="why not", options=options)


def finished(definition: Any, *args: Any, **columns: Any) -> Task:
    pk = int(definition.enqueue(*args).id)
    Task.objects.filter(pk=pk).update(state="failed", attempt=1, unique_lock=None, **columns)
    task: Task = Task.objects.get(pk=pk)
    return task


@pytest.mark.parametrize(
    ("verb", "options", "wrong"),
    [
        ("move", {}, "move needs queue_name"),
        ("move", {"queue_name": ""}, "must be 1 to 128 printable characters"),
        ("change_priority", {"priority": 101}, "from -100 to 100, got 101"),
        ("change_priority", {"priority": True}, "from -100 to 100, got True"),
        ("change_time", {"run_after": 5}, "must be a time in ISO format, got 5"),
        ("change_time", {"run_after": "tomorrow"}, "tomorrow"),
        ("retry", {"task_path": "os.system"}, "retry has no option task_path"),
    ],
)
def test_options_that_cannot_be_are_refused(verb: str, options: dict[str, Any], wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        do(verb, 1, **options)


def test_a_retry_may_wait_for_a_time() -> None:
    task = finished(tasks.add, 1)
    assert do("retry", task.pk, run_after="2126-12-01T15:00:00+00:00").done == [task.pk]
    task.refresh_from_db()
    assert (task.state, task.run_after.isoformat()) == ("scheduled", "2126-12-01T15:00:00+00:00")
    assert task.retried_by == "alice"


def test_a_fresh_set_is_as_many_attempts_as_a_new_task_has(settings: Any) -> None:
    one, unknown = finished(tasks.add, 1), finished(tasks.add, 1, task_path="gone.away")
    alias = settings.TASKS["default"]
    settings.TASKS = {"default": {**alias, "OPTIONS": {**alias.get("OPTIONS", {}), "MAX_ATTEMPTS": 4}}}
    assert do("retry", one.pk, unknown.pk, fresh_attempts=True).done == [one.pk, unknown.pk]
    assert set(Task.objects.values_list("max_attempts", flat=True)) == {5}


class TestAgain:
    def test_g5_it_is_another_task_of_the_same_call(self) -> None:
        task = finished(tasks.add, 3, queue_name="mail", priority=5, metadata={"language": "zh-hans"})
        applied = do("again", task.pk)
        assert applied.done == [task.pk]
        copy = Task.objects.get(pk=applied.made[0])
        assert (copy.task_path, copy.args_kwargs) == (task.task_path, task.args_kwargs)
        assert (copy.state, copy.queue_name, copy.priority, copy.attempt) == ("ready", "mail", 5, 0)
        assert copy.metadata == {"language": "zh-hans", "copy_of": task.pk}
        task.refresh_from_db()
        assert task.state == "failed"

    def test_the_slot_of_a_schedule_is_not_run_twice(self) -> None:
        task = finished(tasks.add, 3, metadata={"schedule": {"name": "nightly"}})
        copy = Task.objects.get(pk=do("again", task.pk).made[0])
        assert copy.metadata == {"copy_of": task.pk}

    def test_what_has_not_ended_or_is_gone_is_left_out(self) -> None:
        waiting = tasks.add.enqueue(1)
        gone = finished(tasks.add, 1, task_path="shop.tasks.old_job")
        damaged = finished(tasks.add, 1, args_kwargs=[])
        whole = finished(tasks.plain, 1)
        assert do("again", waiting.id, gone.pk, damaged.pk, whole.pk).done == [whole.pk]

    @pytest.mark.parametrize("definition", [unique_tasks.ship, unique_tasks.invoice])
    def test_a_unique_call_whose_key_is_held_is_left_out(self, definition: Any) -> None:
        task = finished(definition, 7)
        holder = definition.enqueue(7)
        assert do("again", task.pk) == ([], [], [])
        assert set(Task.objects.values_list("pk", flat=True)) == {task.pk, int(holder.id)}
