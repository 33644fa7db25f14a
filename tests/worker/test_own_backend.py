"""A task keeps the options of the backend that it was enqueued with, and everybody hears how it ended."""

import pytest

from django_locqueue import compat
from django_locqueue.models import Task
from django_locqueue.policies.outcome import Kind
from django_locqueue.worker.execution import Execution
from django_locqueue.worker.executor import Executor
from django_locqueue.worker.telling import tell_finished
from tests import retried_tasks, tasks
from tests.running import claim_next, in_thread, our_backend, run_next

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def two_backends(settings):
    ours = settings.TASKS["default"]
    zero = {"SUCCESSFUL": 0, "FAILED": 0, "CANCELLED": 0}
    options = {"BACKOFF": {"BASE": 1000, "JITTER": 0}, "RETENTION": zero, "MAX_ATTEMPTS": 2}
    settings.TASKS = {"default": ours, "slow": {**ours, "OPTIONS": options}}


def test_the_wait_is_that_of_the_task_s_own_backend(two_backends):
    tasks.fail.using(backend="slow").enqueue()
    assert run_next()[0].outcome.delay == 1000


@pytest.mark.parametrize("definition", [tasks.add, tasks.exit_with, retried_tasks.give_up])
def test_what_the_task_s_own_backend_does_not_keep_is_gone_at_once(two_backends, definition):
    definition.using(backend="slow").enqueue(1)
    run_next()
    assert not Task.objects.exists()


@pytest.mark.parametrize("definition", [tasks.add, tasks.exit_with, retried_tasks.give_up])
def test_what_it_keeps_stays(two_backends, definition):
    definition.enqueue(1)
    run_next()
    assert Task.objects.count() == 1


def test_the_options_of_a_backend_that_is_gone_are_those_of_the_worker_s_own(two_backends, settings):
    tasks.fail.using(backend="slow").enqueue()
    settings.TASKS = {"default": settings.TASKS["default"]}
    assert run_next()[0].outcome.delay < 1000


# -- who hears of a cancelled task


@pytest.fixture
def told():
    results = []

    def receiver(sender, task_result, **kwargs):
        results.append(task_result)

    compat.task_finished.connect(receiver)
    yield results
    compat.task_finished.disconnect(receiver)


@pytest.mark.parametrize("definition", [retried_tasks.snooze, retried_tasks.fail_and_wait_30])
def test_a_task_that_is_cancelled_where_it_would_wait_has_finished_for_django(told, definition):
    result = definition.enqueue(60) if definition is retried_tasks.snooze else definition.enqueue()

    def run():
        execution = Execution(claim_next())
        executor = Executor(our_backend())
        executor.run(execution)
        result.cancel("the order is gone")
        execution.settle(our_backend().store.ack([(execution.claimed, execution.outcome)]).get(execution.key))
        tell_finished(executor, execution)
        return execution.outcome

    assert in_thread(run).kind is Kind.CANCELLED
    assert told[0].status == compat.TaskResultStatus.FAILED
    assert told[0].errors[-1].exception_class.__name__ == "Cancel"
    assert told[0].errors[-1].traceback == "the order is gone"


def test_a_task_that_never_began_and_is_not_kept_is_told_all_the_same(told, two_backends, settings):
    settings.LOCQUEUE = {**settings.LOCQUEUE, "WORKER": {"UNKNOWN_TASK_SECONDS": 0}}
    tasks.add.using(backend="slow").enqueue(1)
    Task.objects.update(task_path="no.such.task")
    run_next()
    assert told[0].errors[-1].exception_class_path == "django_locqueue.exceptions.UnknownTask"
