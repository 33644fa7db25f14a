"""A task belongs to the transaction in which it is enqueued."""

import pytest
from django.contrib.auth.models import Group
from django.db import DatabaseError, connection, transaction
from django.http import HttpResponse
from django.test import Client
from django.urls import path

from django_locqueue.models import Task
from tests import tasks
from tests.running import in_thread, our_backend, run_one

pytestmark = pytest.mark.django_db(transaction=True)


def enqueue_and_fail(request):
    Group.objects.create(name="lost")
    tasks.add.enqueue(1)
    raise RuntimeError("after enqueueing")


def enqueue_and_answer(request):
    tasks.read_group.enqueue(Group.objects.create(name="kept").pk)
    return HttpResponse("done")


urlpatterns = [path("fail/", enqueue_and_fail), path("answer/", enqueue_and_answer)]


@pytest.fixture
def atomic_requests(settings, monkeypatch):
    settings.ROOT_URLCONF = __name__
    settings.MIDDLEWARE = []
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)
    return Client(raise_request_exception=False)


def enqueue_and_raise(*definitions_and_args):
    for definition, *args in definitions_and_args:
        definition.enqueue(*args)
    raise RuntimeError("rolled back")


def ready_elsewhere():
    """Return how many tasks another connection can claim."""
    return in_thread(lambda: Task.objects.ready().count())


def test_e1_a_task_is_not_seen_before_the_commit_and_finds_what_was_committed_with_it():
    with transaction.atomic():
        result = tasks.read_group.enqueue(Group.objects.create(name="committed").pk)
        assert ready_elsewhere() == 0
    assert ready_elsewhere() == 1
    assert run_one(result).return_value == "committed"


def test_e1_a_task_is_gone_with_the_transaction_that_rolls_back():
    with pytest.raises(RuntimeError), transaction.atomic():
        enqueue_and_raise((tasks.add, 1))
    assert not Task.objects.exists()


def test_e1_a_task_is_gone_with_its_savepoint_alone():
    with transaction.atomic():
        outer = tasks.add.enqueue(1)
        with pytest.raises(RuntimeError), transaction.atomic():
            enqueue_and_raise((tasks.add, 2))
    assert list(Task.objects.values_list("pk", flat=True)) == [int(outer.id)]


def test_e1_many_tasks_are_gone_with_the_transaction_that_rolls_back():
    with transaction.atomic():
        tasks.add.enqueue_many([((number,), {}) for number in range(2500)])
        transaction.set_rollback(True)
    assert not Task.objects.exists()


def test_a_request_that_fails_leaves_no_task(atomic_requests):
    assert atomic_requests.get("/fail/").status_code == 500
    assert not Task.objects.exists()
    assert not Group.objects.exists()


def test_a_request_that_answers_leaves_its_task(atomic_requests):
    assert atomic_requests.get("/answer/").status_code == 200
    [task] = Task.objects.all()
    assert run_one(our_backend().get_result(str(task.pk))).return_value == "kept"


def test_without_a_transaction_a_task_is_there_at_once():
    tasks.add.enqueue(1)
    assert ready_elsewhere() == 1


def test_a_task_enqueued_on_commit_is_gone_with_the_rollback():
    with transaction.atomic():
        tasks.add.enqueue_on_commit(1)
        transaction.set_rollback(True)
    assert not Task.objects.exists()


def test_enqueueing_on_commit_without_a_transaction_is_at_once():
    tasks.add.enqueue_on_commit(1)
    assert Task.objects.count() == 1


NO_TASKS = {
    "sqlite": ["CREATE TRIGGER no_tasks BEFORE INSERT ON locqueue_task BEGIN SELECT RAISE(ABORT, 'no tasks'); END"],
    "mysql": [
        "CREATE TRIGGER no_tasks BEFORE INSERT ON locqueue_task FOR EACH ROW "
        "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no tasks'"
    ],
    "postgresql": [
        "CREATE FUNCTION no_tasks() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no tasks'; END $$",
        "CREATE TRIGGER no_tasks BEFORE INSERT ON locqueue_task FOR EACH ROW EXECUTE FUNCTION no_tasks()",
    ],
}


@pytest.fixture
def no_tasks():
    """The database refuses every task."""
    on_table = " ON locqueue_task" if connection.vendor == "postgresql" else ""
    with connection.cursor() as cursor:
        for statement in NO_TASKS[connection.vendor]:
            cursor.execute(statement)
        try:
            yield
        finally:
            cursor.execute(f"DROP TRIGGER no_tasks{on_table}")
            if connection.vendor == "postgresql":
                cursor.execute("DROP FUNCTION no_tasks")


def save_and(enqueue, *arguments):
    with transaction.atomic():
        Group.objects.create(name="saved")
        enqueue(*arguments)


@pytest.mark.parametrize(
    ("enqueue", "argument"), [(tasks.add.enqueue, 1), (tasks.add.enqueue_many, [((1,), {})])], ids=["one", "many"]
)
def test_e2_a_task_that_the_database_refuses_takes_the_data_of_its_transaction_with_it(no_tasks, enqueue, argument):
    with pytest.raises(DatabaseError, match="no tasks"):
        save_and(enqueue, argument)
    assert not Group.objects.exists()


def test_e2_enqueued_on_commit_it_is_refused_when_the_data_is_saved_and_the_caller_hears_of_it(no_tasks):
    with pytest.raises(DatabaseError, match="no tasks"):
        save_and(tasks.add.enqueue_on_commit, 1)
    assert Group.objects.exists()
