"""``MAX_PENDING``: a queue that is full refuses, whichever way a call comes."""

from datetime import timedelta

import pytest
from asgiref.sync import async_to_sync
from django.core import checks
from django.db import transaction
from django.utils import timezone

from django_locqueue import DuplicateTask, QueueFull, group, pending_limit, registry
from django_locqueue.models import Task
from tests import tasks, unique_tasks
from tests.running import in_thread, our_backend

pytestmark = pytest.mark.django_db


@pytest.fixture
def with_limit(settings, monkeypatch):
    monkeypatch.setattr(pending_limit, "LOOK_SECONDS", 3600)  # one look in a test, however slow the machine is

    def use(limits, **options):
        settings.TASKS = {"default": {**settings.TASKS["default"], "OPTIONS": {"MAX_PENDING": limits, **options}}}

    return use


def test_a_full_queue_refuses_a_call(with_limit):
    with_limit({"default": 2})
    tasks.add.enqueue(1)
    tasks.add.enqueue(2)
    with pytest.raises(QueueFull):
        tasks.add.enqueue(3)
    assert Task.objects.count() == 2


def test_a_full_queue_refuses_an_awaited_call(with_limit):
    with_limit({"default": 1})
    tasks.add.enqueue(1)
    with pytest.raises(QueueFull):
        async_to_sync(tasks.add.aenqueue)(2)


def test_many_calls_are_refused_all_if_they_do_not_fit(with_limit):
    with_limit({"default": 3})
    with pytest.raises(QueueFull):
        tasks.add.enqueue_many([((number,), {}) for number in range(4)])
    assert not Task.objects.exists()
    assert len(tasks.add.enqueue_many([((number,), {}) for number in range(3)])) == 3


def test_other_queues_have_no_limit(with_limit):
    with_limit({"default": 1})
    tasks.add.enqueue(1)
    assert len(tasks.add.using(queue_name="mail").enqueue_many([((number,), {}) for number in range(5)])) == 5


def test_what_waits_already_counts(with_limit):
    tasks.add.enqueue_many([((number,), {}) for number in range(3)])
    with_limit({"default": 3})
    with pytest.raises(QueueFull):
        tasks.add.enqueue(1)


def test_a_call_whose_time_has_not_come_is_not_counted(with_limit):
    with_limit({"default": 1})
    later = timezone.now() + timedelta(hours=1)
    tasks.add.using(run_after=later).enqueue(1)
    tasks.add.using(run_after=later).enqueue(1)
    tasks.add.enqueue(2)
    with pytest.raises(QueueFull):
        tasks.add.enqueue(3)


def test_a_call_that_cannot_be_stored_takes_no_room(with_limit):
    with_limit({"default": 1})
    with pytest.raises(TypeError):
        tasks.add.enqueue(object())
    tasks.add.enqueue(1)


@pytest.mark.parametrize("definition", [unique_tasks.ship, unique_tasks.fetch], ids=["whole", "its items"])
def test_a_duplicate_takes_no_room(with_limit, definition):
    with_limit({"default": 2})
    call = (7, ["a"])
    definition.enqueue(*call)
    for _ in range(3):
        assert definition.enqueue(*call).is_duplicate
    assert all(each.is_duplicate for each in definition.enqueue_many([(call, {})]))
    tasks.add.enqueue(1)
    with pytest.raises(QueueFull):
        tasks.add.enqueue(2)


def test_what_is_refused_as_a_duplicate_takes_no_room(with_limit):
    with_limit({"default": 2})
    unique_tasks.invoice.enqueue(7)
    with pytest.raises(DuplicateTask):
        unique_tasks.invoice.enqueue(7)
    tasks.add.enqueue(1)


def test_many_calls_of_which_a_later_one_is_refused_take_no_room(with_limit):
    with_limit({"default": 1, "mail": 1}, MIDDLEWARE=["tests.hooks.LargeToMail"])
    with pytest.raises(QueueFull, match="'mail'"):
        tasks.add.enqueue_many([((number,), {}) for number in (1, 1000, 1001)])
    tasks.add.enqueue(1)


def test_calls_of_which_one_queue_is_full_take_no_room_in_another(with_limit):
    with_limit({"default": 1, "mail": 1})
    to_mail = tasks.add.using(queue_name="mail")
    with pytest.raises(QueueFull, match="'mail'"):
        group([tasks.add.call(1), to_mail.call(2), to_mail.call(3)]).enqueue()
    tasks.add.enqueue(1)


def test_a_workflow_that_cannot_be_stored_takes_no_room(with_limit, monkeypatch):
    with_limit({"default": 1})

    def fail(*args):
        raise OSError("away")

    with monkeypatch.context() as patched:
        patched.setattr(type(our_backend().store), "enqueue_workflow", fail)
        with pytest.raises(OSError, match="away"):
            group([tasks.add.call(1)]).enqueue()
    tasks.add.enqueue(1)


def test_the_queue_that_a_hook_has_chosen_counts(with_limit):
    with_limit({"changed": 1}, MIDDLEWARE=["tests.hooks.Change"])
    tasks.add.enqueue(1)
    with pytest.raises(QueueFull, match="'changed'"):
        tasks.add.enqueue(1)


def test_a_refused_call_leaves_the_transaction_usable(with_limit):
    with_limit({"default": 1})
    with transaction.atomic():
        tasks.add.enqueue(1)
        with pytest.raises(QueueFull):
            tasks.add.enqueue(2)
        assert Task.objects.count() == 1


def test_a_queue_is_looked_at_by_one_statement_and_not_again_at_once(with_limit, django_assert_num_queries):
    with_limit({"default": 100})
    with django_assert_num_queries(2):
        tasks.add.enqueue(1)
    with django_assert_num_queries(1):
        tasks.add.enqueue(2)


def test_a_queue_without_a_limit_is_not_looked_at(with_limit, django_assert_num_queries):
    with_limit({"mail": 100})
    with django_assert_num_queries(1):
        tasks.add.enqueue(1)


def test_the_threads_of_a_process_share_what_they_know(with_limit):
    with_limit({"default": 1})
    ours = our_backend().pending_limits["default"]
    assert in_thread(lambda: our_backend().pending_limits["default"]) is ours


def test_of_several_backends_the_smallest_limit_is_shown(settings):
    ours = settings.TASKS["default"]
    settings.TASKS = {
        "default": {**ours, "OPTIONS": {"MAX_PENDING": {"default": 5, "mail": 9}}},
        "slow": {**ours, "OPTIONS": {"MAX_PENDING": {"default": 3}}},
    }
    assert registry.pending_limits() == {"default": 3, "mail": 9}


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        (5, "must be a dict"),
        (["mail"], "must be a dict"),
        ({"mail": 0}, "a whole number from 1"),
        ({"mail": True}, "a whole number from 1"),
        ({"mail": 1.5}, "a whole number from 1"),
        ({"mail": None}, "a whole number from 1"),
        ({"mail": 10**9}, "a whole number from 1"),
        ({7: 5}, "must name queues"),
        ({"": 5}, "must name queues"),
    ],
)
def test_a_wrong_limit_is_a_system_check_error(with_limit, limits, says):
    with_limit(limits)
    [message] = [each for each in checks.run_checks(databases=[]) if each.id == "locqueue.E031"]
    assert says in message.msg


def test_a_limit_of_a_queue_that_the_backend_does_not_have_is_a_system_check_error(settings):
    ours = {**settings.TASKS["default"], "QUEUES": ["default", "mail"], "OPTIONS": {"MAX_PENDING": {"mial": 5}}}
    settings.TASKS = {"default": ours}
    [message] = [each for each in checks.run_checks(databases=[]) if each.id == "locqueue.E031"]
    assert "did you mean 'mail'" in message.msg


def test_right_limits_pass_the_checks(with_limit):
    with_limit({"mail": 10_000})
    assert [each for each in checks.run_checks(databases=[]) if each.id == "locqueue.E031"] == []


def test_the_first_step_of_a_workflow_needs_room(with_limit):
    with_limit({"default": 2})
    with pytest.raises(QueueFull):
        group(tasks.add.call(number) for number in range(3)).enqueue()
    assert group(tasks.add.call(number) for number in range(2)).then(tasks.add.call(3)).enqueue().total == 3
