"""How background loops fail, wait and stop; the heartbeat and what any worker does for the queue."""

import threading
import time
from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_locqueue import endings, signals
from django_locqueue.models import State, Task, Worker
from django_locqueue.service import Service
from django_locqueue.store import Rescued
from django_locqueue.store.serve import Owner
from django_locqueue.worker.announcer import MOST_WAITING, Announcer
from django_locqueue.worker.execution import Execution, StopReason
from django_locqueue.worker.heartbeat import Heartbeat
from django_locqueue.worker.maintenance import Maintenance
from tests import tasks
from tests.processes import wait_until
from tests.running import our_backend, row


class Loop(Service):
    """Fails the given number of passes; each pass is told by an event."""

    name = "loop"
    LONGEST_WAIT_SECONDS = 0.01

    def __init__(self, failing=0, error=OperationalError):
        super().__init__()
        self.failing = failing
        self.error = error
        self.passes = 0
        self.works = threading.Event()

    def run_once(self, now=None):
        self.passes += 1
        if self.passes <= self.failing:
            raise self.error("the database is away")
        self.works.set()
        return 3600


@pytest.fixture
def started():
    loops = []

    def start(*args, **kwargs):
        loop = Loop(*args, **kwargs)
        loops.append(loop)
        loop.start()
        return loop

    yield start
    for loop in loops:
        loop.stop(10)


def test_a_pass_that_fails_is_repeated_until_it_works(started):
    loop = started(failing=5)
    assert loop.works.wait(10)
    assert loop.passes == 6


def test_a_series_of_failures_is_logged_once_and_its_end_too(started, caplog):
    caplog.set_level("INFO", "django_locqueue")
    loop = started(failing=5)
    assert loop.works.wait(10)
    loop.stop(10)
    assert [record.levelname for record in caplog.records] == ["ERROR", "INFO"]
    assert "The loop failed and goes on trying: OperationalError: the database is away" in caplog.text
    assert "works again after 5 failed tries" in caplog.text


def test_a_loop_can_be_stopped_twice_and_before_its_start(started):
    loop = started()
    loop.stop(10)
    loop.stop(10)
    assert not loop.is_alive
    Loop().stop()


def test_a_waiting_loop_stops_at_once(started):
    loop = started()
    assert loop.works.wait(10)
    loop.stop(5)
    assert not loop.is_alive


def test_a_loop_can_be_woken(started):
    loop = started()
    assert loop.works.wait(10)
    loop.works.clear()
    loop.wake()
    assert loop.works.wait(10)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_what_no_loop_may_survive_ends_it_and_is_seen(started, caplog):
    loop = started(failing=1, error=MemoryErrorOfTheLoop)
    loop._thread.join(10)
    assert not loop.is_alive
    assert "stopped by an error that it must not survive" in caplog.text


class MemoryErrorOfTheLoop(BaseException):
    pass


def test_maintenance_leaves_it_to_others_to_tell_of_what_it_rescued(
    maintenance, monkeypatch, django_capture_on_commit_callbacks
):
    told = []
    monkeypatch.setattr(endings, "announcing", told.append)
    heard = []
    rescued = Rescued(1, State.READY, "w", 1, "default", "mail", "a.b", timezone.now())
    monkeypatch.setattr(type(maintenance.store), "rescue", lambda *args, **options: [rescued])
    signals.task_rescued.connect(lambda **news: heard.append(news["task_id"]), weak=False, dispatch_uid="heard")
    try:
        maintenance._rescue(None)
        assert heard == []
        with django_capture_on_commit_callbacks(execute=True):
            for tell in told:
                tell()
    finally:
        signals.task_rescued.disconnect(dispatch_uid="heard")
    assert heard == [1]


@pytest.mark.django_db(transaction=True)
def test_a_pass_leaves_no_query_log(settings):
    settings.DEBUG = True
    logged = []

    class Asking(Service):
        def run_once(self, now=None):
            logged.append(len(connection.queries_log))
            our_backend().store.now()
            return 0 if len(logged) < 3 else 60

    service = Asking()
    service.start()
    wait_until(lambda: len(logged) == 3)
    service.stop(10)
    assert logged == [0, 0, 0]


class Busy:
    """A pool that only notes what it is asked."""

    busy = 1

    def __init__(self):
        self.asked = []
        self.members = []

    def ask_to_stop(self, reason, ids=None):
        self.asked.append((reason, ids))


@pytest.fixture
def heartbeat(db):
    store = our_backend().store
    return Heartbeat(store, Busy(), lambda: store.register_worker("w:1", lease=30))


def test_a_beat_extends_the_lease(heartbeat):
    Worker.objects.update(lease_until=timezone.now() + timedelta(seconds=1))
    heartbeat.run_once()
    assert Worker.objects.get().lease_until > timezone.now() + timedelta(seconds=20)


def test_a_worker_that_was_given_up_registers_anew_and_asks_its_tasks_to_stop(heartbeat):
    first = heartbeat.row.pk
    Worker.objects.update(stopped_at=timezone.now())
    heartbeat.run_once()
    assert heartbeat.row.pk != first
    assert heartbeat.owner.id == heartbeat.row.pk
    assert (StopReason.LEASE_LOST, None) in heartbeat.pool.asked


def test_a_worker_whose_row_is_gone_registers_anew(heartbeat):
    Worker.objects.all().delete()
    heartbeat.run_once()
    assert Worker.objects.get().pk == heartbeat.row.pk


def test_nothing_is_owned_when_most_of_the_lease_has_passed_without_a_beat(heartbeat):
    assert heartbeat.owner is not None
    heartbeat._last_beat -= 25
    assert heartbeat.owner is None


def test_tasks_are_asked_to_stop_when_the_lease_is_in_doubt_and_not_before(heartbeat):
    heartbeat.watch()
    assert heartbeat.pool.asked == []
    heartbeat._last_beat -= 25
    heartbeat.watch()
    assert heartbeat.pool.asked == [(StopReason.LEASE_LOST, None)]


def test_a_cancelled_task_that_runs_is_asked_to_stop(heartbeat):
    result = tasks.add.enqueue(1)
    [task] = our_backend().store.claim(Owner(heartbeat.row.pk, "w:1"), 1)
    assert result.cancel()
    execution = Execution(task)
    heartbeat.pool.members = [execution]
    heartbeat.look_for_cancelled()
    assert heartbeat.pool.asked == []  # it waits for a thread, and will be given back or begin
    execution.began = time.monotonic()
    heartbeat.look_for_cancelled()
    assert heartbeat.pool.asked == [(StopReason.CANCELLED, {int(result.id)})]


def test_the_next_beat_shows_that_the_worker_stops(heartbeat):
    heartbeat.stopping = True
    heartbeat.run_once()
    assert Worker.objects.get().stopping


def test_a_quiet_worker_hears_that_it_shall_stop(heartbeat):
    heard = []
    heartbeat.stopping, heartbeat.on_dismissal = True, lambda: heard.append("stop")
    heartbeat.run_once()
    assert heartbeat.store.ask_worker_to_stop(heartbeat.row.pk)
    heartbeat.run_once()
    heartbeat.run_once()
    assert heard == ["stop"]


def test_a_beat_comes_at_least_three_times_in_a_lease(settings, db):
    settings.LOCQUEUE = {"WORKER": {"LEASE_SECONDS": 3, "HEARTBEAT_SECONDS": 10}}
    store = our_backend().store
    heartbeat = Heartbeat(store, Busy(), lambda: store.register_worker("w:1", lease=3))
    assert heartbeat.run_once() == 1


@pytest.fixture
def maintenance(db):
    backend = our_backend()
    told = []
    service = Maintenance(
        backend.store,
        max_crashes=backend.max_crashes,
        retention=backend.retention,
        on_ready=lambda: told.append("ready"),
    )
    service.told = told
    return service


def test_maintenance_makes_due_tasks_ready_and_tells(maintenance):
    result = tasks.add.using(run_after=timezone.now() + timedelta(hours=1)).enqueue(1)
    maintenance.run_once()
    assert row(result).state == State.SCHEDULED
    assert maintenance.told == []
    Task.objects.update(run_after=timezone.now() - timedelta(seconds=1))
    maintenance.run_once()
    assert row(result).state == State.READY
    assert maintenance.told == ["ready"]


def test_maintenance_rescues_the_tasks_of_the_dead_and_tells(maintenance, django_capture_on_commit_callbacks):
    result = tasks.add.enqueue(1)
    store = our_backend().store
    dead = store.register_worker("dead:1", lease=30)
    store.claim(Owner(dead.pk, dead.name), 1)
    Worker.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    rescued = []

    def receiver(sender, **kwargs):
        rescued.append((kwargs["task_id"], kwargs["worker_name"]))

    signals.task_rescued.connect(receiver)
    try:
        with django_capture_on_commit_callbacks(execute=True):
            maintenance.run_once()
            assert rescued == []
    finally:
        signals.task_rescued.disconnect(receiver)
    assert rescued == [(int(result.id), "dead:1")]
    assert row(result).state == State.READY
    assert maintenance.told == ["ready"]


def test_a6_an_idle_queue_is_only_read(maintenance):
    """A6: of what a worker does again and again, only its heartbeat writes."""
    tasks.add.using(run_after=timezone.now() + timedelta(hours=1)).enqueue(1)
    maintenance._next_rescue, maintenance._next_prune = 0.0, time.monotonic() + 60
    with CaptureQueriesContext(connection) as queries:
        maintenance.run_once()
        assert maintenance.store.claim(Owner(1, "w:1"), 5) == []
    sent = [query["sql"] for query in queries]
    assert sent
    assert not [sql for sql in sent if sql.lstrip().startswith(("UPDATE", "INSERT", "DELETE"))]


def test_maintenance_prunes_what_is_old(maintenance):
    result = tasks.add.enqueue(1)
    Task.objects.update(state=State.SUCCESSFUL, finished_at=timezone.now() - timedelta(days=8))
    maintenance._next_prune = 0
    maintenance.run_once()
    assert not Task.objects.filter(pk=int(result.id)).exists()


def test_maintenance_sleeps_until_the_next_task_is_due(maintenance):
    maintenance.run_once()
    tasks.add.using(run_after=timezone.now() + timedelta(seconds=0.5)).enqueue(1)
    assert maintenance.run_once() <= 0.501  # SQLite knows milliseconds only


def test_a_worker_that_stops_and_was_given_up_makes_no_new_row(heartbeat):
    Worker.objects.update(stopped_at=timezone.now())
    heartbeat.stopping = True
    heartbeat.run_once()
    assert Worker.objects.count() == 1


def test_a_worker_that_has_just_begun_does_not_judge_who_is_dead(heartbeat):
    assert not heartbeat.is_steady
    heartbeat._steady_since -= heartbeat.interval + 1
    assert heartbeat.is_steady


def test_a_worker_that_comes_back_from_an_outage_does_not_judge_who_is_dead(heartbeat):
    heartbeat._steady_since -= 100
    heartbeat._last_beat -= 3 * heartbeat.interval
    heartbeat.run_once()
    assert heartbeat.lease_is_good
    assert not heartbeat.is_steady


def test_nothing_is_rescued_while_the_dead_cannot_be_told_from_the_silent(db):
    store = our_backend().store
    dead = store.register_worker("dead:1", lease=0)
    tasks.add.enqueue(1)
    assert store.claim(Owner(dead.pk, "dead:1"), 1)
    steady = False
    maintenance = Maintenance(store, max_crashes=3, retention={}, on_ready=lambda: None, may_rescue=lambda: steady)
    maintenance.run_once()
    assert Task.objects.running().count() == 1
    steady = True
    maintenance.run_once()
    assert Task.objects.running().count() == 0


def test_announcements_do_not_wait_for_slots():
    told = []
    announcer = Announcer()
    announcer.put([lambda: told.append(1)])
    announcer.start()
    announcer.drain(10)
    announcer.stop(10)
    assert told == [1]


def test_slots_help_when_receivers_are_slower_than_tasks():
    told = []
    announcer = Announcer()
    for number in range(MOST_WAITING + 2):
        announcer.put([lambda number=number: told.append(number)])
    announcer.help()
    assert told == [0, 1]


def test_an_announcement_that_fails_does_not_keep_the_next(caplog):
    told = []
    announcer = Announcer()
    announcer.put([lambda: 1 / 0])
    announcer.put([lambda: told.append(1)])
    announcer.start()  # a thread of its own: a pass closes its thread's connections
    announcer.drain(10)
    announcer.stop(10)
    assert told == [1]
    assert "ZeroDivisionError" in caplog.text
