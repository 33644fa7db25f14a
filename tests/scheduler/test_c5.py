"""Case C5: however many schedulers there are, a slot is enqueued once."""

from datetime import timedelta

import pytest

from django_locqueue.models import Schedule, ScheduleRun, Task
from django_locqueue.scheduler.scheduler import Scheduler
from tests.processes import wait_until
from tests.running import our_backend
from tests.scheduler.conftest import minutes_ago
from tests.store.races import race

SCHEDULES = 5
SCHEDULERS = 6


@pytest.mark.django_db(transaction=True)
class TestC5:
    def test_schedulers_that_start_together_make_each_schedule_once(self, settings):
        entry = {"task": "tests.tasks.add", "cron": "* * * * *", "args": [1]}
        settings.LOCQUEUE = {"SCHEDULES": {f"each minute {number}": entry for number in range(SCHEDULES)}}
        race(*(Scheduler(our_backend().store).run_once for _ in range(SCHEDULERS)))
        assert Schedule.objects.count() == SCHEDULES

    def test_schedulers_that_look_together_enqueue_each_slot_once(self, make_schedule, caplog):
        for number in range(SCHEDULES):
            make_schedule(f"each minute {number}", next_at=minutes_ago(0))
        first = minutes_ago(0)
        store = our_backend().store

        def serve(minutes):
            # Each comes to it as often as it takes until nothing is due, as the loop does.
            scheduler = Scheduler(store)
            at = first + timedelta(minutes=minutes, seconds=1)
            for _ in range(200):
                if (scheduler.run_once(at)) > 0.5:
                    return
            raise AssertionError("something stayed due")

        for minutes in range(3):
            race(*(lambda minutes=minutes: serve(minutes) for _ in range(SCHEDULERS)))
        assert Task.objects.count() == SCHEDULES * 3
        assert ScheduleRun.objects.values("schedule", "slot").distinct().count() == SCHEDULES * 3
        assert sorted(ScheduleRun.objects.values_list("task_id", flat=True)) == sorted(
            Task.objects.values_list("pk", flat=True)
        )
        assert [record for record in caplog.records if record.levelname in ("ERROR", "WARNING")] == []

    @pytest.mark.processes
    def test_workers_enqueue_each_slot_once(self, run_worker, make_schedule):
        schedule = make_schedule("often", every=1, next_at=None)
        workers = [run_worker(), run_worker(), run_worker("--no-scheduler")]
        wait_until(lambda: ScheduleRun.objects.count() >= 4, *workers[:1])
        workers[0].end()
        seen = ScheduleRun.objects.count()
        wait_until(lambda: ScheduleRun.objects.count() >= seen + 2, workers[1])
        for worker in workers:
            worker.end()
        runs = ScheduleRun.objects.filter(schedule=schedule)
        assert sorted(runs.values_list("task_id", flat=True)) == sorted(Task.objects.values_list("pk", flat=True))
        assert "Traceback" not in "".join(worker.output for worker in workers)
