"""Each slot is enqueued once, when it has come by the database's clock, and a bad row harms only itself."""

import logging
from datetime import UTC, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_locqueue import compat
from django_locqueue.models import Schedule, ScheduleRun, Task
from django_locqueue.scheduler import enqueuing
from django_locqueue.scheduler import scheduler as module
from django_locqueue.scheduler.scheduler import Scheduler
from django_locqueue.service import IDLE_SECONDS
from django_locqueue.store.schedules import PRUNED_EVERY, RUNS_KEPT
from tests import tasks
from tests.running import our_backend
from tests.scheduler.conftest import fresh, minutes_ago, now, slots_of, tasks_stored, this_minute

pytestmark = pytest.mark.django_db


def test_a_slot_that_has_come_is_enqueued(scheduler, make_schedule):
    schedule = make_schedule(next_at=minutes_ago(0))
    scheduler.run_once()
    [task] = Task.objects.all()
    assert (task.task_path, task.args_kwargs, task.state) == (
        "tests.tasks.add",
        {"args": [1], "kwargs": {"b": 2}},
        "ready",
    )
    [run] = ScheduleRun.objects.all()
    assert (run.schedule_id, run.task_id, run.problem) == (schedule.pk, task.pk, "")


def test_the_row_says_what_was_last_and_what_is_next(scheduler, make_schedule):
    slot = minutes_ago(0)
    schedule = make_schedule(next_at=slot)
    scheduler.run_once(slot + timedelta(seconds=1))
    schedule = fresh(schedule)
    assert (schedule.last_at, schedule.next_at) == (slot, slot + timedelta(minutes=1))
    assert schedule.last_task_id == Task.objects.get().pk


def test_a_task_has_the_options_of_its_definition(scheduler, make_schedule):
    make_schedule(task_path="tests.tasks.configured", args_kwargs={"args": [], "kwargs": {}})
    scheduler.run_once()
    task = Task.objects.get()
    assert (task.queue_name, task.priority, task.max_attempts) == ("mail", 7, 3)


def test_a_task_knows_its_schedule_and_its_slot(scheduler, make_schedule):
    slot = minutes_ago(0)
    make_schedule(task_path="tests.tasks.configured", args_kwargs={"args": [], "kwargs": {}}, next_at=slot)
    scheduler.run_once(slot)
    assert Task.objects.get().metadata == {
        "tenant": "acme",
        "schedule": {"name": "nightly", "slot": slot.astimezone(UTC).isoformat()},
    }


def test_nothing_is_enqueued_before_its_slot(scheduler, make_schedule):
    slot = minutes_ago(0)
    make_schedule(next_at=slot)
    assert scheduler.run_once(slot - timedelta(seconds=1.5)) == pytest.approx(1.5)
    assert tasks_stored() == 0


def test_a_slot_that_has_a_run_is_not_enqueued_again(scheduler, make_schedule):
    schedule = make_schedule(next_at=minutes_ago(0))
    slot = minutes_ago(0)
    ScheduleRun.objects.create(schedule=schedule, slot=slot, task_id=1)
    scheduler.run_once(slot)
    assert tasks_stored() == 0
    assert fresh(schedule).next_at > slot


def test_a_run_by_hand_takes_no_slot(make_schedule, scheduler):
    schedule = make_schedule(next_at=minutes_ago(0))
    call = {"args": [1], "kwargs": {}}
    run = enqueuing.run_now(our_backend().store, schedule, definition("tests.tasks.add"), call, started_by="alice")
    assert run.task_id == Task.objects.get().pk
    scheduler.run_once()
    assert tasks_stored() == 2
    assert sorted(ScheduleRun.objects.values_list("started_by", flat=True)) == ["", "alice"]


def definition(path):
    from django_locqueue import registry

    return registry.definitions()[path]


def test_a_schedule_that_is_off_does_not_run(scheduler, make_schedule):
    make_schedule(enabled=False)
    assert scheduler.run_once() == IDLE_SECONDS
    assert tasks_stored() == 0


def test_one_that_was_switched_on_without_a_next_slot_gets_one_and_misses_none(scheduler, make_schedule):
    schedule = make_schedule(next_at=None)
    scheduler.run_once(minutes_ago(0) + timedelta(seconds=5))
    assert (fresh(schedule).next_at, tasks_stored()) == (minutes_ago(-1), 0)


def test_one_without_a_next_slot_is_due_whatever_the_others_have(scheduler, make_schedule):
    make_schedule("planned", next_at=minutes_ago(-30))
    make_schedule("not planned", next_at=None)
    assert scheduler.store.next_slot_in() == scheduler.store.look_ahead().slot == 0


def test_f8_what_a_person_changes_while_it_fires_stays(scheduler, make_schedule, monkeypatch):
    schedule, enqueue_slot = make_schedule(next_at=minutes_ago(0)), module.enqueue_slot
    changes = {"enabled": False, "missed": "skip", "args_kwargs": {"args": [7], "kwargs": {}}}

    def enqueue_while_somebody_changes_it(*args):
        Schedule.objects.filter(pk=schedule.pk).update(**changes)
        return enqueue_slot(*args)

    monkeypatch.setattr(module, "enqueue_slot", enqueue_while_somebody_changes_it)
    scheduler.run_once()
    scheduler.run_once(minutes_ago(-5))
    assert tasks_stored() == 1
    assert {name: getattr(fresh(schedule), name) for name in changes} == changes


def test_it_sleeps_until_the_next_slot(scheduler, make_schedule):
    make_schedule(next_at=minutes_ago(-30), cron="0 3 1 1 *")
    with CaptureQueriesContext(connection) as queries:
        scheduler.run_once()
        before = len(queries)
        assert 28 * 60 < scheduler.run_once() <= 30 * 60
    assert len(queries) - before == 1


class TestLook:
    """What maintenance asks each second tells the scheduler what has changed."""

    @pytest.fixture
    def woken(self, scheduler, monkeypatch):
        calls = []
        monkeypatch.setattr(scheduler, "wake", lambda: calls.append(True))
        return calls

    def test_it_is_one_statement_that_tells_of_tasks_too(self, scheduler, make_schedule):
        tasks.add.using(run_after=timezone.now() + timedelta(minutes=5)).enqueue(1)
        make_schedule(next_at=minutes_ago(-60))
        with CaptureQueriesContext(connection) as queries:
            assert 290 < scheduler.look() <= 300
        assert len(queries) == 1

    def test_where_nothing_is_scheduled_it_says_so(self, scheduler):
        assert scheduler.look() is None

    @pytest.mark.parametrize("next_at", [None, timedelta(0), timedelta(seconds=20)])
    def test_a_schedule_that_is_due_earlier_than_was_known_wakes_it(self, scheduler, make_schedule, woken, next_at):
        scheduler.run_once()
        make_schedule(next_at=next_at if next_at is None else now() + next_at)
        scheduler.look()
        assert woken == [True]

    def test_what_it_sleeps_for_does_not_wake_it(self, scheduler, make_schedule, woken):
        make_schedule(next_at=now() + timedelta(seconds=30))
        scheduler.run_once()
        scheduler.look()
        assert woken == []

    def test_a_schedule_whose_task_is_not_known_here_does_not_wake_it(self, scheduler, make_schedule, woken):
        make_schedule(task_path="no.such.task")
        scheduler.run_once()
        scheduler.look()
        assert woken == []


def test_it_wakes_for_the_next_slot(scheduler, make_schedule):
    make_schedule(every=1, next_at=minutes_ago(0))
    assert scheduler.run_once() <= 1


class TestC4:
    """A rule that never comes, or anything else that no form would take, slipped into a row."""

    @pytest.mark.parametrize(
        ("columns", "said"),
        [
            ({"cron": "0 0 31 4 *"}, "cron never matches a date"),
            ({"cron": "* * * *"}, "cron must have five fields"),
            ({"cron": ""}, "cron is missing"),
            ({"every": 0}, "every must be a whole number"),
            ({"timezone": "Mars/Olympus"}, "timezone “Mars/Olympus” is not the name"),
            ({"missed": "pray"}, "missed must be one of once, skip, all"),
            ({"args_kwargs": {"args": 5}}, "args must be a list, got 5"),
            ({"args_kwargs": "text"}, "args must be a list, got None"),
            ({"args_kwargs": {"args": [1]}}, "kwargs must be a dict"),
            ({"args_kwargs": {"args": [1, 2, 3], "kwargs": {}}}, "args do not fit add(a: int, b: int = 0)"),
        ],
    )
    def test_a_row_that_can_never_run_switches_off_itself_alone(self, scheduler, make_schedule, caplog, columns, said):
        bad, good = make_schedule("bad", **columns), make_schedule("good")
        scheduler.run_once()
        assert scheduler.run_once() > 0
        assert (fresh(bad).enabled, fresh(bad).next_at) == (False, None)
        assert said in fresh(bad).problem
        assert slots_of(good) == [fresh(good).last_at]
        assert fresh(good).enabled
        assert [record.levelname for record in caplog.records if "bad" in record.message] == ["WARNING"]

    @pytest.mark.parametrize("path", ["os.system", "no.such.task", "", "tests.tasks.gate"])
    def test_a_path_that_is_no_task_runs_nothing_and_waits_for_a_worker_that_knows_it(
        self, scheduler, make_schedule, path
    ):
        bad, good = make_schedule("bad", task_path=path), make_schedule("good")
        scheduler.run_once()
        with CaptureQueriesContext(connection) as queries:
            assert scheduler.run_once() > 0
        assert len(queries) == 1
        assert (fresh(bad).enabled, slots_of(bad), len(slots_of(good))) == (True, [], 1)
        assert "task" in fresh(bad).problem

    def test_a_worker_that_knows_the_task_runs_what_another_could_not(self, scheduler, make_schedule):
        schedule = make_schedule(task_path="no.such.task")
        scheduler.run_once()
        Schedule.objects.update(task_path="tests.tasks.add")  # to it, the path means something
        Scheduler(our_backend().store).run_once()
        assert (len(slots_of(schedule)), fresh(schedule).problem) == (1, "")

    def test_what_keeps_one_slot_from_being_enqueued_is_noted_and_the_next_comes(self, scheduler, make_schedule):
        def refuse(**news):
            raise LookupError("no room")

        schedule, other = make_schedule("refused"), make_schedule("other", task_path="tests.tasks.echo")
        Schedule.objects.filter(pk=other.pk).update(args_kwargs={"args": [], "kwargs": {}})
        compat.task_enqueued.connect(refuse)
        try:
            scheduler.run_once()
        finally:
            compat.task_enqueued.disconnect(refuse)
        assert tasks_stored() == 0
        assert fresh(schedule).problem == "LookupError: no room"
        assert fresh(schedule).next_at > now()
        assert ScheduleRun.objects.filter(task_id=None, problem="LookupError: no room").count() == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"MIDDLEWARE": ["tests.hooks.DropOdd"]}, "dropped by tests.hooks.DropOdd before it was enqueued"),
        ({"MIDDLEWARE": ["tests.hooks.Refuse"]}, "PermissionError: not at night"),
        ({"MAX_PENDING": {"default": 1}}, "QueueFull: "),
    ],
)
def test_a_call_that_a_hook_or_a_full_queue_refuses_is_noted_for_its_slot(make_schedule, settings, options, said):
    tasks.add.enqueue(1)
    settings.TASKS = {"default": {**settings.TASKS["default"], "OPTIONS": options}}
    schedule = make_schedule(args_kwargs={"args": [1], "kwargs": {}})
    Scheduler(our_backend().store).run_once()
    assert tasks_stored() == 1
    run = ScheduleRun.objects.get()
    assert (run.task_id, fresh(schedule).enabled) == (None, True)
    assert run.problem.startswith(said)
    assert fresh(schedule).problem == run.problem


class TestC6:
    """USE_TZ off means the same times."""

    def test_a_cron_schedule_comes_at_the_same_moment(self, scheduler, make_schedule, zone):
        slot = this_minute()
        schedule = make_schedule(next_at=slot, timezone="Asia/Shanghai")
        scheduler.run_once()
        assert tasks_stored() == 1
        assert timezone.is_aware(fresh(schedule).next_at) == zone
        assert timedelta(0) < fresh(schedule).next_at - now() <= timedelta(minutes=1)

    def test_a_daily_time_is_that_of_its_zone(self, scheduler, make_schedule, zone):
        schedule = make_schedule(cron="0 3 * * *", timezone="Asia/Shanghai", next_at=None)
        scheduler.run_once()
        at = fresh(schedule).next_at
        if not zone:
            at = timezone.make_aware(at, timezone.get_default_timezone())
        assert at.astimezone(UTC).strftime("%H:%M:%S") == "19:00:00"

    def test_an_idle_one_sleeps_and_is_not_hours_off(self, scheduler, make_schedule, zone):
        make_schedule(next_at=now() + timedelta(seconds=2))
        assert 0 < scheduler.run_once() <= 2


class TestC7:
    """No flood after nobody was there."""

    def test_after_half_an_hour_one_run_makes_good_for_all(self, scheduler, make_schedule):
        schedule = make_schedule(next_at=minutes_ago(30))
        scheduler.run_once()
        assert tasks_stored() == 1
        assert fresh(schedule).next_at > now()

    def test_after_four_days_too(self, scheduler, make_schedule):
        schedule = make_schedule(next_at=minutes_ago(4 * 24 * 60))
        scheduler.run_once()
        scheduler.run_once()
        assert tasks_stored() <= 2  # one for all that was missed, and the minute that may have begun meanwhile
        assert fresh(schedule).next_at > now() - timedelta(seconds=1)

    def test_all_are_run_where_that_is_wanted(self, scheduler, make_schedule):
        at = minutes_ago(0) + timedelta(seconds=1)
        make_schedule(next_at=minutes_ago(3), missed="all")
        scheduler.run_once(at)
        assert tasks_stored() == 4

    def test_none_is_run_where_that_is_wanted(self, scheduler, make_schedule):
        schedule = make_schedule(next_at=minutes_ago(60), missed="skip", cron="0 3 29 2 *")
        scheduler.run_once()
        assert tasks_stored() == 0
        assert fresh(schedule).next_at > now()

    def test_a_clock_that_jumps_forward_makes_one_run(self, scheduler, make_schedule):
        schedule = make_schedule(next_at=minutes_ago(0))
        later = minutes_ago(0) + timedelta(hours=5)
        scheduler.run_once(later)
        scheduler.run_once(later)
        assert (tasks_stored(), fresh(schedule).next_at) == (1, later + timedelta(minutes=1))


class TestC8:
    """What is due is judged by the database's clock alone."""

    def test_a_machine_whose_clock_is_ten_minutes_off_enqueues_in_time(self, make_schedule, monkeypatch):
        slot = now() + timedelta(seconds=30)
        make_schedule(next_at=slot)
        for wrong in (timedelta(minutes=10), timedelta(minutes=-10)):
            monkeypatch.setattr(timezone, "now", lambda wrong=wrong: slot + wrong)
            delay = Scheduler(our_backend().store).run_once()
            assert tasks_stored() == 0
            assert 0 < delay <= 30

    def test_a_clock_that_steps_back_repeats_no_slot(self, scheduler, make_schedule):
        at = minutes_ago(0) + timedelta(seconds=1)
        make_schedule(next_at=minutes_ago(0))
        scheduler.run_once(at)
        scheduler.run_once(at - timedelta(hours=1))
        scheduler.run_once(at)
        assert tasks_stored() == 1


def test_only_the_latest_runs_are_kept(make_schedule):
    schedule = make_schedule()
    slots = [minutes_ago(5000 - each) for each in range(RUNS_KEPT + 20)]
    ScheduleRun.objects.bulk_create(ScheduleRun(schedule=schedule, slot=slot, task_id=1) for slot in slots)
    store = our_backend().store
    for each in range(PRUNED_EVERY):
        store.add_schedule_run(schedule.pk, minutes_ago(-each), task_id=1)
    assert RUNS_KEPT <= ScheduleRun.objects.count() < RUNS_KEPT + PRUNED_EVERY
    assert slots_of(schedule)[-1] == minutes_ago(1 - PRUNED_EVERY)


def test_logs_say_what_was_switched_off_only_once(scheduler, make_schedule, caplog):
    caplog.set_level(logging.INFO, "django_locqueue")
    make_schedule(cron="0 0 31 4 *")
    for _ in range(3):
        scheduler.run_once()
    assert caplog.text.count("is switched off") == 1
