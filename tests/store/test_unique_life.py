"""Tasks of one key under any sequence of verbs: no verb ever fails by another's lock, and a key has one holder."""

from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from django_locqueue.models import FINISHED, WAITING, Task, TaskAttempt, Worker
from django_locqueue.policies.outcome import Kind
from django_locqueue.store import Claimed, store_for
from tests import unique_tasks
from tests.store.machines import live
from tests.store.rows import outcome, owner_of

KEY = 7
WHILE_IT_WAITS, UNTIL_IT_ENDS = unique_tasks.ship, unique_tasks.settle


class Keys(RuleBasedStateMachine):
    """Two definitions, one of each kind of uniqueness; the verbs come over two connections."""

    def __init__(self) -> None:
        super().__init__()
        self.stores = [store_for("default"), store_for("second")]
        self.claims: list[Claimed] = []

    def teardown(self) -> None:
        for model in (TaskAttempt, Task, Worker):
            model.objects.all().delete()

    def holders(self, definition: Any) -> list[Task]:
        return list(Task.objects.filter(task_path=definition.module_path).exclude(unique_lock=None))

    def some_task(self, data: st.DataObject) -> int:
        pk: int = data.draw(st.sampled_from(list(Task.objects.order_by("pk").values_list("pk", flat=True))))
        return pk

    @rule()
    def the_other_connection_goes_on(self) -> None:
        self.stores.reverse()

    @rule(definition=st.sampled_from([WHILE_IT_WAITS, UNTIL_IT_ENDS]))
    def enqueue(self, definition: Any) -> None:
        held = self.holders(definition)
        result = definition.enqueue(KEY)
        assert result.is_duplicate == bool(held)
        assert not held or int(result.id) == held[0].pk

    @rule(most=st.integers(1, 5))
    def claim(self, most: int) -> None:
        worker = self.stores[0].register_worker("w:1", lease=30)
        self.claims += self.stores[0].claim(owner_of(worker), most)

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), kind=st.sampled_from(Kind))
    def ack(self, data: st.DataObject, kind: Kind) -> None:
        self.stores[0].ack([(data.draw(st.sampled_from(self.claims)), outcome(kind))])

    @precondition(lambda self: self.claims)
    @rule()
    def workers_die_and_their_tasks_are_rescued(self) -> None:
        for worker in Worker.objects.all():
            self.stores[0].stop_worker(worker.pk)
        running = Task.objects.filter(state="running").count()
        assert len(self.stores[0].rescue(max_crashes=3)) == running

    @precondition(lambda self: Task.objects.exists())
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        self.stores[0].cancel([self.some_task(data)])

    @precondition(lambda self: Task.objects.exists())
    @rule(data=st.data())
    def requeue(self, data: st.DataObject) -> None:
        pk = self.some_task(data)
        changed = self.stores[0].requeue([pk])
        task = Task.objects.get(pk=pk)
        assert not changed or (task.state in WAITING and task.unique_lock is not None)

    @invariant()
    def who_holds_a_key_still_needs_it(self) -> None:
        assert all(task.state in WAITING for task in self.holders(WHILE_IT_WAITS))
        assert not any(task.state in FINISHED for task in self.holders(UNTIL_IT_ENDS))
        assert all(len(self.holders(definition)) <= 1 for definition in (WHILE_IT_WAITS, UNTIL_IT_ENDS))


@pytest.mark.usefixtures("second_session")
@pytest.mark.django_db(transaction=True, databases=["default", "second"])
def test_any_sequence_of_verbs_leaves_a_key_to_one_task() -> None:
    live(Keys, lives=10, verbs=30)
