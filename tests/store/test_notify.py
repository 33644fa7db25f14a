"""Whom NOTIFY tells of new tasks, when, and how often. PostgreSQL only."""

import time
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from django_locqueue.models import Limit, State, Task, Worker
from django_locqueue.policies.outcome import Kind, Outcome
from django_locqueue.store import Store, notify, store_for
from django_locqueue.store.notify import ANY, CHANNEL, Notifier
from django_locqueue.store.serve import Owner
from tests import limited_tasks, tasks, unique_tasks
from tests.store.plans import Statements

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("fresh_notifier")]


@pytest.fixture
def store() -> Store:
    if connection.vendor != "postgresql":
        pytest.skip("NOTIFY is PostgreSQL's")
    return store_for("default")


@pytest.fixture
def fresh_notifier(store, monkeypatch):
    """A process that has told nothing yet, and whose windows last as long as the test."""
    monkeypatch.setattr(store, "notifier", Notifier(store))
    monkeypatch.setattr(notify, "WINDOW_SECONDS", 60)
    monkeypatch.setattr(notify, "LOOK_SECONDS", 60)
    monkeypatch.setattr(notify, "SILENT_SECONDS", 60)


class Ear:
    """A connection that listens, as a worker's."""

    def __init__(self, store):
        self.connection = store.listening_connection()
        with self.connection.cursor() as cursor:
            cursor.execute(f"LISTEN {CHANNEL}")

    def heard(self, seconds=0.0):
        """Return the payloads that came. Those of a transaction that has ended are there when the server answers."""
        with self.connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        return [each.payload for each in self.connection.connection.notifies(timeout=seconds)]


@pytest.fixture
def ear(store):
    ear = Ear(store)
    yield ear
    ear.connection.close()


def sent(work):
    """Return the payloads of each notification that a piece of work sent."""
    statements = Statements()
    with connection.execute_wrapper(statements):
        work()
    return [params[-1] for sql, params in statements.sent if "pg_notify" in sql]


def test_an_enqueue_tells_its_queue(ear):
    tasks.add.enqueue(1)
    tasks.configured.enqueue()
    assert ear.heard() == ["default", "mail"]


def test_many_calls_tell_once(ear):
    tasks.add.enqueue_many([((number,), {}) for number in range(2000)])
    assert ear.heard() == ["default"]


def test_e1_nothing_is_told_before_the_commit(ear):
    with transaction.atomic():
        tasks.add.enqueue(1)
        assert sent(lambda: tasks.add.enqueue(2)) == []
        assert ear.heard() == []
    assert ear.heard() == ["default"]


def test_e1_who_is_told_finds_the_task(ear):
    with transaction.atomic():
        tasks.add.enqueue(1)
        transaction.on_commit(lambda: found.append(Task.objects.using("default").ready().count()))
        found = []
    assert ear.heard() == ["default"]
    with ear.connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM locqueue_task WHERE state = 'ready'")
        assert [cursor.fetchone()[0]] == found == [1]


def test_e1_nothing_is_told_after_a_rollback(ear):
    with transaction.atomic():
        tasks.add.enqueue(1)
        transaction.set_rollback(True)
    assert ear.heard() == []


def test_e1_of_a_savepoint_that_was_rolled_back_nobody_hears(ear):
    with transaction.atomic():
        tasks.add.enqueue(1)
        with transaction.atomic():
            tasks.configured.enqueue()
            transaction.set_rollback(True)
    assert ear.heard() == ["default"]


def test_a_transaction_that_ends_by_hand_tells_nobody(ear):
    transaction.set_autocommit(False)
    try:
        tasks.add.enqueue(1)
        transaction.commit()
    finally:
        transaction.set_autocommit(True)
    assert ear.heard() == []
    assert Task.objects.ready().count() == 1


def test_what_a_test_runs_as_if_committed_tells_nobody(ear, django_capture_on_commit_callbacks):
    with transaction.atomic():
        with django_capture_on_commit_callbacks(execute=True):
            tasks.add.enqueue(1)
        assert ear.heard() == []


def test_a_queue_is_told_of_once_in_a_window(ear, django_assert_num_queries):
    tasks.add.enqueue(1)
    with django_assert_num_queries(1):
        tasks.add.enqueue(2)
    assert ear.heard() == ["default"]


def test_after_the_window_it_is_told_again(store, ear):
    tasks.add.enqueue(1)
    store.notifier._quiet_until["default"] = 0.0
    tasks.add.enqueue(2)
    assert ear.heard() == ["default", "default"]


def test_windows_of_very_many_queues_are_not_remembered(store, ear, monkeypatch):
    monkeypatch.setattr(notify, "MOST_NAMES", 3)
    for number in range(10):
        tasks.add.using(queue_name=f"tenant-{number}").enqueue(1)
    assert len(store.notifier._quiet_until) <= 4
    assert len(ear.heard()) == 10


def test_while_nobody_listens_an_enqueue_is_one_statement(django_assert_num_queries):
    tasks.add.enqueue(1)  # asks whether anybody does
    with django_assert_num_queries(2):
        tasks.add.enqueue(2)
        tasks.configured.enqueue()


def test_who_begins_to_listen_is_noticed(store):
    tasks.add.enqueue(1)
    ear = Ear(store)
    try:
        store.notifier._silent_until = store.notifier._look_at = 0.0
        store.notifier._quiet_until.clear()
        tasks.add.enqueue(1)
        assert ear.heard() == ["default"]
    finally:
        ear.connection.close()


def test_who_begins_to_listen_is_noticed_ten_times_a_second(store, monkeypatch):
    monkeypatch.undo()  # the times as they are
    store.notifier = Notifier(store)
    tasks.add.enqueue(1)
    assert store.notifier._silent_until == store.notifier._look_at <= time.monotonic() + 0.1


def test_who_listens_through_a_pooler_that_adds_an_address_is_noticed(store, django_assert_num_queries):
    ear = store.listening_connection()
    ear.settings_dict["OPTIONS"]["application_name"] += " - 127.0.0.1:6432"
    ear.connect()
    try:
        tasks.add.enqueue(1)
        with django_assert_num_queries(2):
            tasks.configured.enqueue()
    finally:
        ear.close()


def test_without_listen_nothing_is_sent(settings, ear, django_assert_num_queries):
    settings.LOCQUEUE = {"WORKER": {"LISTEN": False}}
    with django_assert_num_queries(1):
        tasks.add.enqueue(1)
    assert ear.heard() == []


def test_of_what_is_due_later_nobody_hears(ear):
    tasks.add.using(run_after=timezone.now() + timedelta(seconds=60)).enqueue(1)
    assert ear.heard() == []


def test_of_what_is_due_sooner_than_anybody_looks_all_hear(ear):
    tasks.add.using(run_after=timezone.now() + timedelta(seconds=0.5)).enqueue(1)
    assert ear.heard() == [ANY]


def test_what_was_put_off_until_the_past_is_told_as_ready(ear):
    tasks.add.using(run_after=timezone.now() - timedelta(seconds=5)).enqueue(1)
    assert ear.heard() == ["default"]


def claimed(store):
    tasks.add.enqueue(1)
    worker = store.register_worker("w:1", lease=60)
    [task] = store.claim(Owner(worker.pk, worker.name), 1)
    return task


def test_a_task_that_is_put_back_is_told_of(store, ear):
    task = claimed(store)
    store.notifier._quiet_until.clear()
    assert sent(lambda: store.ack([(task, Outcome(Kind.RELEASED))])) == [["default"]]


def test_a_task_that_ended_is_not(store, ear):
    task = claimed(store)
    store.notifier._quiet_until.clear()
    assert sent(lambda: store.ack([(task, Outcome(Kind.SUCCESSFUL))])) == []


@pytest.mark.parametrize(
    ("verb", "state"), [("requeue", State.FAILED), ("run_now", State.SCHEDULED), ("promote", State.SCHEDULED)]
)
def test_what_becomes_ready_otherwise_is_told_to_all(store, ear, verb, state):
    id = int(tasks.add.enqueue(1).id)
    Task.objects.update(state=state)
    do = getattr(store, verb)
    assert sent(lambda: do() if verb == "promote" else do([id])) == [[ANY]]
    assert sent(lambda: do() if verb == "promote" else do([id])) == []


def test_what_is_rescued_is_told_of(store, ear):
    claimed(store)
    Worker.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert sent(lambda: store.rescue(max_crashes=3)) == [[ANY]]
    assert sent(lambda: store.rescue(max_crashes=3)) == []


def test_a_rate_that_is_resumed_is_told_of(store, ear):
    Limit.objects.create(key="r:amap", paused_until=timezone.now() + timedelta(hours=1))
    assert sent(lambda: store.resume_rate("r:amap")) == [[ANY]]


def test_a_queue_that_is_resumed_is_told_of(store, ear):
    store.pause("default")
    assert sent(lambda: store.resume("default")) == [[ANY]]


def test_a_notification_that_fails_harms_nobody_and_is_told_once(store, ear, monkeypatch, caplog):
    monkeypatch.setattr(notify, "_NOTIFY_AND_LOOK", "SELECT nothing_of_this_name(%s, %s, %s)")
    tasks.add.enqueue(1)
    with transaction.atomic():
        tasks.configured.enqueue()
    assert Task.objects.ready().count() == 2
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "they find them by polling" in caplog.text


def test_a_notification_that_fails_leaves_other_callbacks_of_the_commit_alone(store, ear, monkeypatch):
    monkeypatch.setattr(notify, "_NOTIFY_AND_LOOK", "SELECT nothing_of_this_name(%s, %s, %s)")
    called = []
    with transaction.atomic():
        tasks.add.enqueue(1)
        transaction.on_commit(lambda: called.append(Task.objects.ready().count()))
    assert called == [1]


def test_a_listening_connection_is_outside_the_pool(store, monkeypatch):
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "pool", {"max_size": 1})
    listening = store.listening_connection()
    assert "pool" not in listening.settings_dict["OPTIONS"]
    assert connection.settings_dict["OPTIONS"]["pool"] == {"max_size": 1}
    listening.connect()
    try:
        assert listening.connection.info.get_parameters()["application_name"] == notify.LISTENER
    finally:
        listening.close()


def test_a_task_that_waits_for_its_turn_is_told_as_such(ear):
    limited_tasks.hourly.enqueue(1)
    assert ear.heard() == [f"{notify.LIMITED}default"]


def test_a_call_that_was_left_out_tells_nobody(store):
    def told():
        store.notifier = Notifier(store)
        return sent(lambda: unique_tasks.ship.enqueue(7))

    assert (told(), told()) == ([["default"]], [])


def test_a_waiting_task_that_is_to_run_at_once_is_told(ear, store):
    unique_tasks.index.using(run_after=timezone.now() + timedelta(hours=1)).enqueue("home")
    assert ear.heard() == []
    unique_tasks.index.enqueue("home")
    assert ear.heard() == [ANY]


def test_a_waiting_task_that_may_be_under_another_limit_is_told(ear, store):
    unique_tasks.ship_from.enqueue(1, 10)
    unique_tasks.render.enqueue("home")
    ear.heard()
    unique_tasks.render.enqueue("home")
    assert ear.heard() == []
    unique_tasks.ship_from.enqueue(1, 20)
    assert ear.heard() == [ANY]


def test_items_that_are_enqueued_tell_their_queue(ear):
    unique_tasks.fetch.enqueue(1, [1])
    assert ear.heard() == ["default"]
