"""One call of a function for many tasks, each of which ends for itself."""

import pytest
from django.utils import timezone

from django_locqueue import compat
from django_locqueue.models import State, Task, TaskAttempt
from django_locqueue.policies.outcome import Kind
from django_locqueue.worker.execution import StopReason
from tests import chunked_tasks
from tests.running import our_backend, row, run_chunk

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def seen():
    chunked_tasks.seen.clear()
    return chunked_tasks.seen


def enqueue(definition, *calls, **kwargs):
    return definition.enqueue_many([(args, kwargs) for args in calls])


def states(results):
    return [row(result).state for result in results]


def test_one_call_gets_what_was_enqueued_in_its_order(seen):
    results = enqueue(chunked_tasks.note.using(metadata={"tenant": 7}), (1,), (2,), (3,), mode="fast")
    run_chunk()
    [calls] = seen
    assert [(call.args, call.kwargs, call.id, call.attempt, call.metadata) for call in calls] == [
        ([number], {"mode": "fast"}, result.id, 1, {"tenant": 7})
        for number, result in zip((1, 2, 3), results, strict=True)
    ]


def test_a_function_that_returns_nothing_has_done_all(seen):
    results = enqueue(chunked_tasks.note, (1,), (2,))
    run_chunk()
    assert states(results) == [State.SUCCESSFUL] * 2
    assert [row(result).return_value for result in results] == [None, None]


def test_one_value_is_that_of_each():
    results = enqueue(chunked_tasks.answer_all, (), ())
    run_chunk()
    assert [row(result).return_value for result in results] == [{"calls": 2}] * 2


def test_each_call_has_its_own_outcome():
    results = enqueue(
        chunked_tasks.answer,
        ("value", {"city": "Xi'an"}),
        ("error", "no such network"),
        ("retry", 60),
        ("cancel", "not ours"),
        ("snooze", 60),
    )
    run_chunk()
    assert states(results) == [State.SUCCESSFUL, State.SCHEDULED, State.SCHEDULED, State.CANCELLED, State.SCHEDULED]
    good, failed, retried, cancelled, snoozed = map(row, results)
    assert good.return_value == {"city": "Xi'an"}
    assert (failed.attempt, failed.error_message) == (1, "no such network")
    assert (retried.attempt, snoozed.attempt) == (1, 0)
    assert cancelled.error_message == "not ours"
    assert list(TaskAttempt.objects.order_by("task_id").values_list("task_id", flat=True)) == [
        failed.pk,
        retried.pk,
        cancelled.pk,
    ]


def test_what_the_function_raises_fails_all():
    results = enqueue(chunked_tasks.fail_all, (1,), (2,))
    run_chunk()
    assert states(results) == [State.FAILED] * 2
    assert {row(result).error_message for result in results} == {"the service is away"}


def test_each_is_retried_after_its_own_backoff():
    results = enqueue(chunked_tasks.retry_all, (1,), (3,))
    before = timezone.now()
    run_chunk()
    assert states(results) == [State.SCHEDULED] * 2
    waits = [(row(result).run_after - before).total_seconds() for result in results]
    assert waits == pytest.approx([10, 30], abs=5)


def test_one_that_has_no_attempt_left_fails_beside_others_that_have():
    worn, fresh = enqueue(chunked_tasks.retry_all, (1,), (1,))
    Task.objects.filter(pk=worn.id).update(attempt=2)
    run_chunk()
    assert states([worn, fresh]) == [State.FAILED, State.SCHEDULED]


def test_chunk_failed_fails_those_that_it_names_and_the_others_have_succeeded():
    results = enqueue(chunked_tasks.fail_second, (1,), (2,), (3,))
    run_chunk()
    assert states(results) == [State.SUCCESSFUL, State.FAILED, State.SUCCESSFUL]
    assert row(results[1]).error_message == "not this one"


def test_a_wrong_number_of_values_fails_all_and_says_so():
    results = enqueue(chunked_tasks.answer_too_few, (1,), (2,))
    run_chunk()
    assert states(results) == [State.FAILED] * 2
    assert "returned 1 values for 2 calls" in row(results[0]).error_message


def test_a_value_that_cannot_be_stored_fails_its_call_alone():
    results = enqueue(chunked_tasks.answer, ("object",), ("value", 1))
    run_chunk()
    assert states(results) == [State.FAILED, State.SUCCESSFUL]


def test_the_function_never_hears_of_one_whose_arguments_are_damaged(seen):
    damaged, whole = enqueue(chunked_tasks.note, (1,), (2,))
    Task.objects.filter(pk=damaged.id).update(args_kwargs="[")
    run_chunk()
    assert states([damaged, whole]) == [State.FAILED, State.SUCCESSFUL]
    assert [call.id for call in seen[0]] == [whole.id]


def test_one_that_was_cancelled_before_the_function_begins_is_not_called(seen):
    asked, other = enqueue(chunked_tasks.note, (1,), (2,))

    def cancel(chunk):
        our_backend().cancel([int(asked.id)], "not needed")
        chunk.ask_to_stop(StopReason.CANCELLED, {int(asked.id)})

    run_chunk(cancel)
    assert states([asked, other]) == [State.CANCELLED, State.SUCCESSFUL]
    assert row(asked).error_message == "not needed"
    assert [call.id for call in seen[0]] == [other.id]


def test_a_chunk_of_which_nothing_is_left_is_not_called(seen):
    results = enqueue(chunked_tasks.note, (1,), (2,))
    run_chunk(lambda chunk: chunk.ask_to_stop(StopReason.SHUTDOWN))
    assert seen == []
    assert [(row(result).attempt, row(result).worker_ids) for result in results] == [(0, "")] * 2


def test_the_outcome_of_one_that_was_taken_by_another_worker_is_refused_alone():
    lost, own = enqueue(chunked_tasks.note, (1,), (2,))
    first, second = run_chunk(lambda chunk: Task.objects.filter(pk=lost.id).update(claim_no=5))
    assert (first.written, second.written) == (None, State.SUCCESSFUL)
    assert states([lost, own]) == [State.RUNNING, State.SUCCESSFUL]


def test_a_result_that_is_not_wanted_is_not_kept():
    enqueue(chunked_tasks.forget, (1,), (2,))
    run_chunk()
    assert not Task.objects.exists()


def test_a_chunk_that_runs_too_long_is_interrupted_and_each_of_its_tasks_failed():
    results = enqueue(chunked_tasks.spin, (1,), (2,))
    run_chunk()
    assert states(results) == [State.FAILED] * 2
    assert row(results[0]).error_message == "ran longer than its timeout of 0.2 s"


def test_receivers_hear_of_each_task():
    heard = []

    def started(sender, task_result, **kwargs):
        heard.append(("started", task_result.id))

    def finished(sender, task_result, **kwargs):
        heard.append(("finished", task_result.id))

    compat.task_started.connect(started)
    compat.task_finished.connect(finished)
    try:
        first, second = enqueue(chunked_tasks.note, (1,), (2,))
        run_chunk()
    finally:
        compat.task_started.disconnect(started)
        compat.task_finished.disconnect(finished)
    assert heard == [(word, result.id) for word in ("started", "finished") for result in (first, second)]


def stopped_in_the_midst(reason, *ids):
    """Run a chunk whose function is asked to stop after it has begun."""

    def ask_later(chunk):
        chunked_tasks.meanwhile.append(lambda: chunk.ask_to_stop(reason, {int(id) for id in ids} if ids else None))

    return run_chunk(ask_later)


def test_a_call_says_whether_it_should_stop_and_the_function_goes_on_for_the_others():
    asked, other = enqueue(chunked_tasks.check, (1,), (2,))
    stopped_in_the_midst(StopReason.CANCELLED, asked.id)
    assert [row(result).return_value for result in (asked, other)] == [True, False]


def test_a_function_whose_calls_are_all_cancelled_should_stop():
    results = enqueue(chunked_tasks.check, (1,), (2,))
    ends = stopped_in_the_midst(StopReason.CANCELLED, *(result.id for result in results))
    assert [end.outcome.kind for end in ends] == [Kind.CANCELLED] * 2
    assert states(results) == [State.CANCELLED] * 2


def test_a_function_that_stops_because_the_worker_leaves_gives_all_back_uncharged():
    results = enqueue(chunked_tasks.check, (1,), (2,))
    stopped_in_the_midst(StopReason.SHUTDOWN)
    assert [(row(result).attempt, row(result).is_finished) for result in results] == [(0, False)] * 2
