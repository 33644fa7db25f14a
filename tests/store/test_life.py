"""The life of one row under any sequence of verbs: what holds after each of them, whatever came before."""

from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from django_locqueue.models import FINISHED, Task, TaskAttempt
from django_locqueue.policies.outcome import Kind
from django_locqueue.store import Claimed, Store, store_for
from django_locqueue.store.serve import Owner
from tests.store.rows import NOW, enqueue, later, outcome, owner_of

MAX_CRASHES = 3


class Life(RuleBasedStateMachine):
    """One task; every claim that was ever given stays in hand, so that stale ones are tried too."""

    store: Store

    def __init__(self) -> None:
        super().__init__()
        self.store = store_for("default")
        self.atomic = transaction.atomic()
        self.atomic.__enter__()
        self.pk = enqueue(self.store, max_attempts=3).id
        self.claims: list[Claimed] = []
        self.claim_no = 0
        self.charged = 0  # tries that count
        self.before = self.row()
        self.may_leave_end = False  # whether the verb that just ran may take a row out of a final state

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.atomic.__exit__(None, None, None)

    def row(self) -> Task | None:
        found: Task | None = Task.objects.filter(pk=self.pk).first()
        return found

    def step(self, *, leaves_end: bool = False) -> None:
        self.before, self.may_leave_end = self.row(), leaves_end

    def owner(self) -> Owner:
        return owner_of(self.store.register_worker("w", lease=30, now=NOW))

    # -- the verbs

    @rule()
    def claim(self) -> None:
        self.step()
        claimed = self.store.claim(self.owner(), 5, now=NOW)
        assert [task.id for task in claimed] == ([self.pk] if self.before and self.before.state == "ready" else [])
        self.claims += claimed
        self.charged += len(claimed)

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), kind=st.sampled_from(Kind), delay=st.sampled_from([0, 60]), keep=st.booleans())
    def ack(self, data: st.DataObject, kind: Kind, delay: float, keep: bool) -> None:
        self.step()
        task = data.draw(st.sampled_from(self.claims))
        before = self.before
        current = before is not None and before.state == "running" and before.claim_no == task.claim_no
        accepted = self.store.ack([(task, outcome(kind, delay=delay, keep_row=keep))], now=NOW)
        assert accepted.keys() == ({task.key} if current else set())
        if current and kind in (Kind.SNOOZED, Kind.RELEASED):
            self.charged -= 1

    @rule()
    def worker_dies(self) -> None:
        self.step()
        if self.before is not None and self.before.worker_id is not None:
            self.store.stop_worker(self.before.worker_id, now=NOW)

    @rule()
    def rescue(self) -> None:
        self.step()
        rescued = self.store.rescue(max_crashes=MAX_CRASHES, now=NOW)
        after = self.row()
        assert len(rescued) <= 1
        if rescued:
            assert after is not None
            assert (after.state, after.crashes) == (rescued[0].state, rescued[0].crashes)
            assert TaskAttempt.objects.filter(task_id=self.pk, number=after.attempt, outcome="crashed").exists()

    @rule(reason=st.sampled_from(["", "why"]))
    def cancel(self, reason: str) -> None:
        self.step()
        self.store.cancel([self.pk], reason, now=NOW)
        after = self.row()
        assert after is None or after.is_finished or after.cancel_requested

    @rule()
    def requeue(self) -> None:
        self.step(leaves_end=True)
        changed = self.store.requeue([self.pk], now=NOW)
        before, after = self.before, self.row()
        assert changed == ([self.pk] if before and before.state in ("failed", "cancelled") else [])
        if changed:
            assert after is not None
            assert (after.state, after.crashes, after.cancel_requested) == ("ready", 0, False)
            assert after.max_attempts > after.attempt

    @rule()
    def run_now(self) -> None:
        self.step()
        self.store.run_now([self.pk], now=NOW)

    @rule()
    def promote(self) -> None:
        self.step()
        self.store.promote(now=later(hours=2))

    @rule()
    def prune_what_is_not_old(self) -> None:
        self.step()
        self.store.prune(dict.fromkeys(FINISHED, 1), now=NOW)
        assert (self.row() is None) == (self.before is None)

    @precondition(lambda self: len(self.claims) > 3)
    @rule()
    def delete(self) -> None:
        self.step(leaves_end=True)
        deleted = self.store.delete([self.pk])
        assert bool(deleted) == (self.before is not None and self.before.state != "running")

    # -- what always holds

    @invariant()
    def a_try_is_a_worker_id(self) -> None:
        if task := self.row():
            assert task.attempt == len(task.worker_names) == self.charged

    @invariant()
    def the_columns_fit_the_state(self) -> None:
        if task := self.row():
            assert (task.finished_at is not None) == task.is_finished
            assert (task.worker_id is not None) == (task.state == "running")
            assert task.return_value is None or task.state == "successful"
            assert (task.started_at is not None) == (task.attempt > 0)
            if task.state == "running":
                assert task.claim_no == self.claims[-1].claim_no
                assert task.attempt >= 1
            if task.cancel_requested:
                assert task.state == "running" or task.is_finished
            assert task.crashes <= min(MAX_CRASHES, task.attempt)
            if task.crashes == MAX_CRASHES:
                assert task.state in ("failed", "cancelled")

    @invariant()
    def the_claim_number_only_grows(self) -> None:
        if task := self.row():
            assert self.claim_no <= task.claim_no
            self.claim_no = task.claim_no

    @invariant()
    def an_end_is_left_only_by_requeue_or_delete(self) -> None:
        before: Any = self.before
        if before is not None and before.is_finished and not self.may_leave_end:
            after = self.row()
            assert after is not None
            assert (after.state, after.finished_at) == (before.state, before.finished_at)

    @invariant()
    def no_attempt_is_without_its_task(self) -> None:
        if self.row() is None:
            assert not TaskAttempt.objects.filter(task_id=self.pk).exists()


@pytest.mark.django_db
def test_any_sequence_of_verbs_leaves_a_row_that_makes_sense():
    run_state_machine_as_test(
        Life,
        settings=settings(
            max_examples=25,
            stateful_step_count=25,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
