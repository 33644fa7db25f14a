"""What a person does to stored tasks: requeue, run now, cancel, delete, pause, resume."""

import threading
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from django_locqueue.models import Queue, State, Task, TaskAttempt
from django_locqueue.policies import retry
from django_locqueue.policies.outcome import Kind
from django_locqueue.store import Store
from django_locqueue.store.serve import Owner
from tests.store.races import race
from tests.store.rows import NOW, ago, changed, claim_one, later, outcome, put, row, running, state

ALL = [each.value for each in State]


def one_of_each() -> dict[str, int]:
    return {each: put(each, attempt=1, worker_ids="x\n") for each in ALL}


def except_for(*states: str) -> list[str]:
    return [each for each in ALL if each not in states]


def unchanged(pks: dict[str, int], states: list[str]) -> bool:
    return all(state(pks[each]) == each for each in states)


# -- requeue


def test_only_failed_and_cancelled_tasks_are_requeued(store: Store):
    pks = one_of_each()
    assert store.requeue(list(pks.values())) == [pks["failed"], pks["cancelled"]]
    assert unchanged(pks, except_for("failed", "cancelled"))


def test_one_that_succeeded_is_requeued_where_that_is_meant(store: Store):
    pks = one_of_each()
    Task.objects.update(return_value=1)
    assert store.requeue(list(pks.values()), states=(State.SUCCESSFUL,)) == [pks["successful"]]
    again = row(pks["successful"])
    assert (again["state"], again["return_value"], again["finished_at"]) == ("ready", None, None)


def test_requeue_makes_a_task_ready_now_and_keeps_its_history(store: Store):
    pk = put("failed", attempt=3, max_attempts=3, crashes=2, finished_at=ago(days=1), cancel_requested=True)
    before = row(pk)
    assert store.requeue([pk], now=NOW) == [pk]
    assert changed(before, row(pk)) == {
        "state": "ready",
        "run_after": NOW,
        "finished_at": None,
        "crashes": 0,
        "max_attempts": 4,
        "cancel_requested": False,
    }


@pytest.mark.parametrize(("attempt", "max_attempts", "crashes"), [(1, 1, 0), (5, 5, 0), (3, 1, 3), (4, 2, 2)])
def test_requeue_gives_exactly_one_more_attempt(
    store: Store, owner: Owner, attempt: int, max_attempts: int, crashes: int
):
    pk = put("failed", attempt=attempt, max_attempts=max_attempts, crashes=crashes, worker_ids="x\n" * attempt)
    store.requeue([pk])
    task = claim_one(store, owner)
    before = retry.exhausted(attempt=task.attempt - 1, crashes=task.crashes, max_attempts=task.max_attempts)
    after = retry.exhausted(attempt=task.attempt, crashes=task.crashes, max_attempts=task.max_attempts)
    assert (before, after) == (False, True)


def test_requeue_never_takes_attempts_away(store: Store):
    pk = put("cancelled", attempt=1, max_attempts=5)
    store.requeue([pk])
    assert row(pk)["max_attempts"] == 5


def test_requeue_keeps_the_attempts_of_before(store: Store, owner: Owner):
    task = running(store, owner)
    store.ack([(task, outcome(Kind.FAILED))])
    store.requeue([task.id])
    assert TaskAttempt.objects.filter(task_id=task.id).count() == 1


# -- run now


def test_run_now_makes_a_scheduled_task_ready_before_its_time(store: Store):
    pk = put("scheduled", run_after=later(days=1))
    before = row(pk)
    assert store.run_now([pk], now=NOW) == [pk]
    assert changed(before, row(pk)) == {"state": "ready", "run_after": NOW}


def test_only_scheduled_tasks_are_run_now(store: Store):
    pks = one_of_each()
    assert store.run_now(list(pks.values())) == [pks["scheduled"]]
    assert unchanged(pks, except_for("scheduled"))


# -- cancel


def test_cancel_ends_what_waits_and_asks_what_runs(store: Store):
    pks = one_of_each()
    cancelled, asked = store.cancel(list(pks.values()), now=NOW)
    assert (sorted(cancelled), asked) == ([pks["scheduled"], pks["ready"], pks["blocked"]], [pks["running"]])
    assert unchanged(pks, except_for("scheduled", "ready", "blocked"))


def test_a_waiting_task_ends_with_the_reason(store: Store):
    pk = put("ready")
    before = row(pk)
    store.cancel([pk], "no longer wanted", now=NOW)
    assert changed(before, row(pk)) == {
        "state": "cancelled",
        "finished_at": NOW,
        "error_class": "django_locqueue.exceptions.Cancel",
        "error_message": "no longer wanted",
    }


def test_a_running_task_is_only_asked(store: Store, owner: Owner):
    task = running(store, owner)
    before = row(task.id)
    store.cancel([task.id])
    assert changed(before, row(task.id)) == {"cancel_requested": True}


def test_the_worker_learns_which_of_its_tasks_are_asked_to_stop(store: Store, owner: Owner, other: Owner):
    mine, kept, theirs = running(store, owner), running(store, owner), running(store, other)
    store.cancel([mine.id, theirs.id])
    assert store.asked_to_stop([mine.key, kept.key]) == {mine.id}
    assert store.asked_to_stop([(theirs.id, theirs.claim_no - 1)]) == set()
    assert state(kept.id) == "running"


@pytest.mark.parametrize(
    ("reason", "by", "text"),
    [
        ("too late", "alice", "by alice: too late"),
        ("", "alice", "by alice"),
        ("too late", "", "too late"),
        ("", "", ""),
    ],
)
def test_who_cancelled_it_and_why_is_what_it_ends_with(store: Store, owner: Owner, reason: str, by: str, text: str):
    waiting, task = put("ready"), running(store, owner)
    store.cancel([waiting, task.id], reason, by=by)
    store.ack([(task, outcome(Kind.RELEASED))])
    assert [row(pk)["error_message"] for pk in (waiting, task.id)] == [text, text]


@pytest.mark.parametrize("reason", ["x" * 10_000, "a\0b", "\ud835", "🙂" * 300, ""], ids=ascii)
def test_any_reason_can_be_given(store: Store, reason: str):
    pk = put("ready")
    store.cancel([pk], reason)
    assert state(pk) == "cancelled"
    assert len(row(pk)["error_message"]) <= 200


@pytest.mark.django_db(transaction=True)
def test_a_task_that_is_given_back_meanwhile_does_not_escape_the_cancel(
    store: Store, owner: Owner, needs_row_locks: None
):
    task = running(store, owner)
    threads: list[threading.Thread] = []

    def between(execute, sql, params, many, context):
        result = execute(sql, params, many, context)
        if not threads and "locqueue_task" in sql:
            # Another worker's release, after the first statement of the cancel. It may have to wait for the lock.
            threads.append(threading.Thread(target=lambda: race(lambda: store.release([task]))))
            threads[0].start()
            threads[0].join(0.5)
        return result

    with connection.execute_wrapper(between):
        store.cancel([task.id])
    threads[0].join()
    assert state(task.id) == "cancelled"


# -- delete


def test_a_running_task_is_never_deleted(store: Store):
    pks = one_of_each()
    assert sorted(store.delete(list(pks.values()))) == sorted(pks[each] for each in except_for("running"))
    assert list(Task.objects.values_list("pk", flat=True)) == [pks["running"]]


def test_the_attempts_go_with_the_task_and_no_other_s(store: Store, owner: Owner):
    gone, kept = running(store, owner), running(store, owner)
    store.ack([(gone, outcome(Kind.FAILED)), (kept, outcome(Kind.FAILED))])
    store.delete([gone.id])
    assert list(TaskAttempt.objects.values_list("task_id", flat=True)) == [kept.id]


VERBS: list[Any] = ["requeue", "run_now", "delete", "cancel"]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("ids", [[], [987_654]], ids=["no ids", "unknown ids"])
def test_nothing_to_change_is_no_error(store: Store, verb: str, ids: list[int]):
    assert getattr(store, verb)(ids) in ([], ([], []))


@pytest.mark.parametrize("verb", VERBS)
def test_an_id_given_twice_counts_once(store: Store, verb: str):
    pk = put({"requeue": "failed", "run_now": "scheduled"}.get(verb, "ready"))
    assert getattr(store, verb)([pk, pk]) in ([pk], ([pk], []))


# -- pause and resume


def test_pause_says_who_and_why_and_resume_takes_it_back(store: Store):
    assert store.pause("mail", by="ada", reason="provider is down", now=NOW)
    queue = Queue.objects.get(name="mail")
    assert (queue.paused_at, queue.paused_by, queue.pause_reason) == (NOW, "ada", "provider is down")
    assert store.resume("mail")
    queue.refresh_from_db()
    assert (queue.paused_at, queue.paused_by, queue.pause_reason) == (None, "", "")


@pytest.mark.parametrize(("at", "claimed"), [(NOW, 0), (later(minutes=9), 0), (later(minutes=10), 1)])
def test_a_pause_with_an_end_is_over_then_by_itself(store: Store, owner: Owner, at: datetime, claimed: int):
    put(queue_name="mail", run_after=ago(hours=1))
    store.pause("mail", until=later(minutes=10), now=NOW)
    [found] = store.find_ready(1)
    with transaction.atomic():
        assert len(store.claim_found(found, owner, now=at)) == claimed
        transaction.set_rollback(True)
    assert len(store.look(now=at).heads) == claimed
    assert len(store.claim_from("mail", owner, 1, now=at)) == claimed


def test_whether_a_pause_is_over_says_the_database_s_clock(store: Store, owner: Owner):
    put(queue_name="mail")
    store.pause("mail", until=store.now() + timedelta(hours=1))
    assert store.claim(owner, 1) == []
    Queue.objects.update(paused_until=store.now() - timedelta(microseconds=1))
    assert len(store.claim(owner, 1)) == 1


def test_a_pause_that_is_over_is_no_pause(store: Store):
    store.pause("mail", by="ada", until=later(minutes=1), now=NOW)
    assert not store.pause("mail", by="bob", now=later(seconds=59))
    assert not store.resume("mail", now=later(minutes=1))
    assert store.pause("mail", by="bob", now=later(minutes=1))
    assert Queue.objects.values_list("paused_by", "paused_until").get() == ("bob", None)


def test_a_second_pause_keeps_the_first_and_says_so(store: Store):
    store.pause("mail", by="ada", now=NOW)
    assert not store.pause("mail", by="bob")
    assert Queue.objects.get(name="mail").paused_by == "ada"


def test_resume_of_a_queue_that_is_not_paused_says_so(store: Store):
    assert not store.resume("no such queue")
    store.add_queues(["mail"])
    assert not store.resume("mail")


def test_a_paused_queue_still_takes_outcomes(store: Store, owner: Owner):
    task = running(store, owner)
    store.pause("own")
    assert store.ack([(task, outcome(Kind.SUCCESSFUL))]) == {task.key: "successful"}


def test_a_resumed_queue_is_served_again(store: Store, owner: Owner):
    pk = put(queue_name="mail")
    store.pause("mail")
    store.resume("mail")
    assert claim_one(store, owner).id == pk


@pytest.mark.parametrize("text", ["x" * 10_000, "a\0b", "\ud835"], ids=ascii)
def test_any_name_and_reason_can_be_given_for_a_pause(store: Store, text: str):
    assert store.pause("mail", by=text, reason=text)


def test_adding_queues_that_exist_changes_nothing(store: Store):
    store.pause("mail", by="ada")
    store.add_queues(["mail", "video"])
    assert sorted(Queue.objects.values_list("name", "paused_by")) == [("mail", "ada"), ("video", "")]
