"""The life of one row under any sequence of verbs: what holds after each of them, whatever came before.

The verbs come over two connections and for two workers, in any order; time passes between them, or does not.
"""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from django_locqueue.models import FINISHED, Queue, Task, TaskAttempt, Worker
from django_locqueue.policies.outcome import Kind
from django_locqueue.store import Claimed, Store, store_for
from django_locqueue.store.serve import Owner
from tests.store.machines import live
from tests.store.rows import NOW, enqueue, later, outcome, owner_of

MAX_CRASHES = 3


class Life(RuleBasedStateMachine):
    """One task; every claim that was ever given stays in hand, so that stale ones are tried too."""

    store: Store

    def __init__(self) -> None:
        super().__init__()
        self.stores = [store_for("default"), store_for("second")]
        self.store = self.stores[0]
        self.now = NOW
        self.pk = 0
        self.claims: list[Claimed] = []
        self.claim_no = 0
        self.charged = 0  # tries that count
        self.tries_told = 0  # tries of which an attempt's row tells
        self.is_paused = False
        self.before: Task | None = None
        self.may_leave_end = False  # whether the verb that just ran may take a row out of a final state

    @initialize(delay=st.sampled_from([None, 0, 60]))
    def enqueue(self, delay: float | None) -> None:
        run_after = None if delay is None else later(seconds=delay)
        self.pk = enqueue(self.store, max_attempts=3, run_after=run_after).id
        # The store judged by the database's clock; here the time is what the test says it is.
        Task.objects.filter(pk=self.pk).update(
            state="scheduled" if delay else "ready", run_after=run_after or NOW, enqueued_at=NOW
        )

    def teardown(self) -> None:
        for model in (TaskAttempt, Task, Worker, Queue):
            model.objects.all().delete()

    @rule(seconds=st.sampled_from([0, 1, 20, 61, 3600]))
    def time_passes_and_the_other_connection_goes_on(self, seconds: float) -> None:
        self.step()
        self.now += timedelta(seconds=seconds)
        self.stores.reverse()
        self.store = self.stores[0]
        assert list(self.store.tasks.values("id", "state", "claim_no")) == list(
            self.stores[1].tasks.values("id", "state", "claim_no")
        )

    def row(self) -> Task | None:
        found: Task | None = Task.objects.filter(pk=self.pk).first()
        return found

    def step(self, *, leaves_end: bool = False) -> None:
        self.before, self.may_leave_end = self.row(), leaves_end

    def is_running(self) -> bool:
        task = self.row()
        return task is not None and task.state == "running"

    def owner_lives(self) -> bool:
        assert self.before is not None
        return bool(Worker.objects.live(self.now).filter(pk=self.before.worker_id or 0).exists())

    def owner(self) -> Owner:
        """Return a new worker: a name may come again, a row does not."""
        return owner_of(self.store.register_worker(f"w{self.stores[0].alias}", lease=30, now=self.now))

    # -- the verbs

    @rule()
    def claim(self) -> None:
        self.step()
        claimed = self.store.claim(self.owner(), 5, now=self.now)
        may_run = self.before is not None and self.before.state == "ready" and not self.is_paused
        assert [task.id for task in claimed] == ([self.pk] if may_run else [])
        self.claims += claimed
        self.charged += len(claimed)

    @precondition(lambda self: len(self.claims) > 1 and self.is_running())
    @rule(data=st.data(), kind=st.sampled_from(Kind))
    def ack_an_earlier_claim(self, data: st.DataObject, kind: Kind) -> None:
        self.step()
        assert self.before is not None
        stale = data.draw(st.sampled_from(self.claims[:-1]))
        assert self.store.ack([(stale, outcome(kind))], now=self.now) == {}
        assert columns(self.row()) == columns(self.before)

    @precondition(lambda self: self.is_running())
    @rule()
    def put_back_and_claim_again(self) -> None:
        self.step()
        assert self.store.release([self.claims[-1]], now=self.now)
        self.charged -= 1
        claimed = self.store.claim(self.owner(), 5, now=self.now)
        self.claims += claimed
        self.charged += len(claimed)

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), kind=st.sampled_from(Kind), delay=st.sampled_from([0, 60]), keep=st.booleans())
    def ack(self, data: st.DataObject, kind: Kind, delay: float, keep: bool) -> None:
        self.step()
        task = data.draw(st.sampled_from(self.claims))
        before = self.before
        current = before is not None and before.state == "running" and before.claim_no == task.claim_no
        accepted = self.store.ack([(task, outcome(kind, delay=delay, keep_row=keep))], now=self.now)
        assert accepted.keys() == ({task.key} if current else set())
        if current and kind in (Kind.SNOOZED, Kind.RELEASED):
            self.charged -= 1
        if current and kind in (Kind.FAILED, Kind.RETRIED, Kind.CANCELLED) and self.row() is not None:
            self.tries_told += 1
        if not current and before is not None:
            assert columns(self.row()) == columns(before)

    @rule()
    def worker_dies(self) -> None:
        self.step()
        if self.before is not None and self.before.worker_id is not None:
            self.store.stop_worker(self.before.worker_id, now=self.now)

    @rule()
    def rescue(self) -> None:
        self.step()
        dead = self.before is not None and self.before.state == "running" and not self.owner_lives()
        rescued = self.store.rescue(max_crashes=MAX_CRASHES, now=self.now)
        after = self.row()
        assert bool(rescued) == dead
        assert len(rescued) <= 1
        if rescued:
            self.tries_told += 1
            assert after is not None
            assert (after.state, after.crashes) == (rescued[0].state, rescued[0].crashes)
            assert TaskAttempt.objects.filter(task_id=self.pk, number=after.attempt, outcome="crashed").exists()

    @rule(reason=st.sampled_from(["", "why"]))
    def cancel(self, reason: str) -> None:
        self.step()
        self.store.cancel([self.pk], reason, now=self.now)
        after = self.row()
        assert after is None or after.is_finished or after.cancel_requested

    @rule()
    def requeue(self) -> None:
        self.step(leaves_end=True)
        changed = self.store.requeue([self.pk], now=self.now)
        before, after = self.before, self.row()
        assert changed == ([self.pk] if before and before.state in ("failed", "cancelled") else [])
        if changed:
            assert after is not None
            assert (after.state, after.crashes, after.cancel_requested) == ("ready", 0, False)
            assert after.max_attempts > after.attempt

    @rule()
    def run_now(self) -> None:
        self.step()
        self.store.run_now([self.pk], now=self.now)

    @rule()
    def promote(self) -> None:
        self.step()
        promoted = self.store.promote(now=self.now)
        due = self.before is not None and self.before.state == "scheduled" and self.before.run_after <= self.now
        assert promoted == due

    @rule()
    def pause_or_resume(self) -> None:
        self.step()
        if self.is_paused:
            assert self.store.resume("default")
        else:
            assert self.store.pause("default", now=self.now)
        self.is_paused = not self.is_paused

    @precondition(lambda self: self.row() is not None)
    @rule()
    def prune_what_is_not_old(self) -> None:
        self.step()
        assert self.before is not None
        self.store.prune(dict.fromkeys(FINISHED, 1), now=self.before.finished_at or self.now)
        assert self.row() is not None

    @precondition(lambda self: len(self.claims) > 6)
    @rule()
    def prune_what_is_old(self) -> None:
        self.step(leaves_end=True)
        pruned = self.store.prune(dict.fromkeys(FINISHED, 1), now=self.now + timedelta(days=2))
        assert pruned == (self.before is not None and self.before.is_finished)

    @precondition(lambda self: len(self.claims) > 6)
    @rule()
    def delete(self) -> None:
        self.step(leaves_end=True)
        deleted = self.store.delete([self.pk])
        assert bool(deleted) == (self.before is not None and self.before.state != "running")

    # -- what always holds

    @invariant()
    def all_holds(self) -> None:
        """Asked once after each verb: the statements are most of this test's time."""
        task = self.row()
        self.attempts_tell_of_each_try_that_did_not_end_well(task)
        self.an_end_is_left_only_by_requeue_or_delete(task)
        if task is not None:
            self.a_try_is_a_worker_id(task)
            self.the_columns_fit_the_state(task)
            self.the_claim_number_only_grows(task)

    def a_try_is_a_worker_id(self, task: Task) -> None:
        assert task.attempt == len(task.worker_names) == self.charged

    def the_columns_fit_the_state(self, task: Task) -> None:
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

    def the_claim_number_only_grows(self, task: Task) -> None:
        assert self.claim_no <= task.claim_no
        self.claim_no = task.claim_no

    def an_end_is_left_only_by_requeue_or_delete(self, task: Task | None) -> None:
        before = self.before
        if before is not None and before.is_finished and not self.may_leave_end:
            assert task is not None
            assert (task.state, task.finished_at) == (before.state, before.finished_at)

    def attempts_tell_of_each_try_that_did_not_end_well(self, task: Task | None) -> None:
        told = TaskAttempt.objects.filter(task_id=self.pk).count()
        assert told == (0 if task is None else self.tries_told)


def columns(task: Task | None) -> dict[str, Any]:
    return {name: value for name, value in vars(task).items() if name != "_state"}


@pytest.mark.usefixtures("second_session")
@pytest.mark.django_db(transaction=True, databases=["default", "second"])
def test_any_sequence_of_verbs_leaves_a_row_that_makes_sense():
    live(Life, lives=15, verbs=40)
