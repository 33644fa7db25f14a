"""What enqueueing returns, stores and tells."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import transaction
from django.test import override_settings
from django.utils import timezone

from django_locqueue import compat
from django_locqueue.backend import LocQueueBackend
from django_locqueue.models import State, Task
from tests import tasks
from tests.running import row

pytestmark = pytest.mark.django_db

READY = compat.TaskResultStatus.READY


def test_an_enqueued_task_is_ready_and_has_not_begun():
    result = tasks.add.enqueue(1, b=2)
    assert result.status == READY
    assert not result.is_finished
    assert (result.started_at, result.last_attempted_at, result.finished_at) == (None, None, None)
    assert (result.attempts, result.errors, result.worker_ids) == (0, [], [])


def test_a_result_knows_its_call():
    result = tasks.add.enqueue(1, b=2)
    assert (result.args, result.kwargs, result.backend, result.task) == ([1], {"b": 2}, "default", tasks.add)


def test_a_result_has_the_time_of_enqueueing():
    before = timezone.now()
    result = tasks.add.enqueue(1)
    assert abs(result.enqueued_at - before) < timedelta(minutes=1)
    assert timezone.is_aware(result.enqueued_at)


def test_an_id_is_text_of_at_most_64_characters():
    id = tasks.add.enqueue(1).id
    assert isinstance(id, str)
    assert 0 < len(id) <= 64


def test_each_call_has_an_id_of_its_own():
    assert tasks.add.enqueue(1).id != tasks.add.enqueue(1).id


def test_one_call_is_one_statement(django_assert_num_queries):
    with django_assert_num_queries(1):
        tasks.add.enqueue(1)


def test_the_row_holds_the_options_of_the_definition():
    stored = row(tasks.configured.enqueue())
    assert (stored.queue_name, stored.priority, stored.max_attempts) == ("mail", 7, 3)
    assert stored.metadata == {"tenant": "acme"}
    assert (stored.task_path, stored.backend_alias) == ("tests.tasks.configured", "default")


def test_using_changes_a_copy_and_not_the_definition():
    changed = tasks.configured.using(priority=-5, queue_name="other", metadata={"tenant": "zoo"})
    stored = row(changed.enqueue())
    assert (stored.queue_name, stored.priority, stored.metadata) == ("other", -5, {"tenant": "zoo"})
    assert (tasks.configured.queue_name, tasks.configured.priority) == ("mail", 7)


def test_using_keeps_what_it_is_not_told():
    changed = tasks.configured.using(priority=1)
    assert (changed.queue_name, changed.max_attempts, changed.func) == ("mail", 3, tasks.configured.func)


def test_using_can_set_the_priority_to_zero():
    assert tasks.configured.using(priority=0).priority == 0


def test_a_call_for_later_is_scheduled_and_ready_for_django():
    when = timezone.now() + timedelta(hours=1)
    result = tasks.add.using(run_after=when).enqueue(1)
    stored = row(result)
    assert result.status == READY
    assert (stored.state, stored.run_after) == (State.SCHEDULED, when)


def test_a_call_for_the_past_is_ready_at_once():
    stored = row(tasks.add.using(run_after=timezone.now() - timedelta(days=1)).enqueue(1))
    assert stored.state == State.READY


def test_a_stored_result_knows_when_its_task_may_begin():
    when = timezone.now() + timedelta(hours=1)
    id = tasks.add.using(run_after=when).enqueue(1).id
    assert tasks.add.get_result(id).task.run_after == when
    assert tasks.add.get_result(tasks.add.enqueue(1).id).task.run_after is None


def test_a_time_of_another_zone_is_the_same_instant():
    when = datetime(2090, 1, 1, 8, tzinfo=timezone.get_fixed_timezone(480))
    assert row(tasks.add.using(run_after=when).enqueue(1)).run_after == datetime(2090, 1, 1, 0, tzinfo=UTC)


def test_a_naive_time_is_refused_with_use_tz():
    with pytest.raises(compat.InvalidTask, match="run_after"):
        tasks.add.using(run_after=datetime(2090, 1, 1))  # noqa: DTZ001 - naive is the subject


@override_settings(USE_TZ=False, TIME_ZONE="Asia/Shanghai")
def test_a_naive_time_is_in_the_default_zone_without_use_tz():
    stored = row(tasks.add.using(run_after=datetime(2090, 1, 1, 8)).enqueue(1))  # noqa: DTZ001
    assert (stored.state, stored.run_after) == (State.SCHEDULED, datetime(2090, 1, 1, 8))  # noqa: DTZ001


@override_settings(USE_TZ=False, TIME_ZONE="Asia/Shanghai")
def test_an_aware_time_is_converted_without_use_tz():
    when = datetime(2090, 1, 1, 0, tzinfo=UTC)
    assert row(tasks.add.using(run_after=when).enqueue(1)).run_after == datetime(2090, 1, 1, 8)  # noqa: DTZ001


def test_many_calls_are_stored_in_order_by_one_statement(django_assert_num_queries):
    with django_assert_num_queries(1):
        results = tasks.add.enqueue_many([((number,), {"b": 1}) for number in range(50)])
    assert [result.args for result in results] == [[number] for number in range(50)]
    stored = Task.objects.in_bulk([int(result.id) for result in results])
    assert [stored[int(result.id)].args_kwargs["args"] for result in results] == [[n] for n in range(50)]


def test_no_calls_need_no_statement(django_assert_num_queries):
    with django_assert_num_queries(0):
        assert tasks.add.enqueue_many([]) == []


def test_one_bad_call_of_many_stores_none():
    with pytest.raises(TypeError, match="Argument a is"):
        tasks.add.enqueue_many([((1,), {}), ((object(),), {})])
    assert not Task.objects.exists()


@pytest.mark.parametrize("call", [(1, {}), ((1,),), 1, ("text", {}), ((1,), []), ((1,), {}, 3), None], ids=repr)
def test_what_is_no_pair_of_arguments_is_told_with_what_is(call, django_assert_num_queries):
    with django_assert_num_queries(0), pytest.raises(TypeError, match=r"takes \(args, kwargs\) pairs .* at 1\."):
        tasks.add.enqueue_many([((1,), {}), call])


def test_many_calls_tell_of_each():
    seen = []

    def receiver(sender, task_result, **kwargs):
        seen.append(task_result.id)

    compat.task_enqueued.connect(receiver, sender=LocQueueBackend)
    try:
        results = tasks.add.enqueue_many([((1,), {}), ((2,), {})])
    finally:
        compat.task_enqueued.disconnect(receiver, sender=LocQueueBackend)
    assert seen == [result.id for result in results]


def test_enqueueing_on_commit_waits_for_the_commit(django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True), transaction.atomic():
        tasks.add.enqueue_on_commit(1)
        assert not Task.objects.exists()
    assert Task.objects.count() == 1


def test_enqueueing_on_commit_checks_the_arguments_at_once():
    with transaction.atomic(), pytest.raises(TypeError, match="Argument a is"):
        tasks.add.enqueue_on_commit(object())
