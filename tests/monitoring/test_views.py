"""What the views answer."""

import sys
from datetime import timedelta

import pytest
from django.db import OperationalError
from prometheus_client.parser import text_string_to_metric_families

from django_locqueue.models import Queue, TaskStat
from django_locqueue.observability import snapshot
from tests.store.rows import put, put_many, waiting_since

pytestmark = [pytest.mark.django_db, pytest.mark.any_vendor]


@pytest.fixture
def no_database(monkeypatch):
    def fail(store):
        raise OperationalError('connection to server at "db.internal", user "shop" failed')

    monkeypatch.setattr(snapshot, "_take", fail)


def values(answer):
    """Return ``{name: {labels without the database: value}}``."""
    found = {}
    for family in text_string_to_metric_families(answer.text if hasattr(answer, "text") else answer.content.decode()):
        for sample in family.samples:
            labels = tuple(text for name, text in sorted(sample.labels.items()) if name != "database")
            found.setdefault(sample.name.removeprefix("locqueue_"), {})[labels] = sample.value
    return found


class TestHealth:
    def test_all_is_well(self, worker, ask):
        answer = ask("health/")
        assert (answer.status_code, answer.json()) == (200, {"status": "ok", "problems": []})

    def test_a_warning_is_no_reason_to_be_woken(self, worker, now, ask):
        put_many(11, "failed", finished_at=now)
        answer = ask("health/")
        assert answer.status_code == 200
        assert answer.json() == {"status": "warning", "problems": ["11 tasks failed in the last hour"]}

    def test_without_a_worker_it_is_503(self, db, ask):
        answer = ask("health/")
        assert answer.status_code == 503
        assert answer.json() == {
            "status": "critical",
            "problems": ["No worker is running. Tasks wait until you start one: python manage.py runqueue"],
        }

    def test_limits_are_the_settings(self, worker, now, ask, settings):
        put(**waiting_since(now - timedelta(seconds=90)))
        assert ask("health/").status_code == 503
        monitoring = {**settings.LOCQUEUE["MONITORING"], "MAX_WAIT_SECONDS": 120}
        settings.LOCQUEUE = {**settings.LOCQUEUE, "MONITORING": monitoring}
        assert ask("health/").status_code == 200

    def test_a_database_that_is_away_is_told_without_its_address(self, no_database, ask):
        answer = ask("health/")
        assert answer.status_code == 503
        assert answer.json() == {"status": "unknown", "problems": ["The queue's database cannot be read"]}


class TestStatus:
    def test_it_is_what_the_command_prints(self, worker, now, ask):
        put(run_after=now)
        found = ask("status.json").json()
        assert (found["status"], found["totals"]["ready"]) == ("ok", 1)
        assert [queue["name"] for queue in found["queues"]] == ["default"]
        assert [each["name"] for each in found["workers"]] == ["web-1:1"]

    def test_a_database_that_is_away_is_503(self, no_database, ask):
        answer = ask("status.json")
        assert (answer.status_code, answer.json()["status"]) == (503, "unknown")


class TestMetrics:
    def test_prometheus_can_read_them(self, worker, now, ask):
        put_many(3, queue_name="mail", **waiting_since(now - timedelta(minutes=14)))
        put("scheduled", queue_name="mail", run_after=now + timedelta(hours=1))
        put("scheduled", queue_name="mail", run_after=now + timedelta(hours=1), attempt=1)
        put("running", queue_name="mail", worker_id=worker.pk, last_attempted_at=now)
        put("failed", queue_name="mail", finished_at=now)
        span = {"seconds": TaskStat.MINUTE, "queue_name": "mail", "task_path": "shop.tasks.send"}
        TaskStat.objects.create(start=now.replace(second=0, microsecond=0), succeeded=30, wait_5=30, **span)
        found = values(ask("metrics/"))
        assert found["up"] == {(): 1}
        assert {state: count for (queue, state), count in found["tasks"].items()} == {
            "ready": 3,
            "limited": 0,
            "scheduled": 1,
            "retrying": 1,
            "running": 1,
        }
        assert found["oldest_ready_seconds"][("mail",)] == pytest.approx(14 * 60, abs=60)
        assert (found["failed_last_hour"], found["failed_last_day"]) == ({("mail",): 1}, {("mail",): 1})
        assert found["finished_per_minute"][("mail",)] >= 2
        assert found["wait_seconds_p95"][("mail",)] > 0
        assert (found["workers"][("busy",)], found["slots"], found["slots_busy"]) == (1, {(): 4}, {(): 1})
        assert (found["queue_workers"], found["queue_paused"]) == ({("mail",): 1}, {("mail",): 0})

    def test_a_paused_queue_and_one_that_nothing_waits_in(self, worker, now, ask):
        Queue.objects.create(name="mail", paused_at=now)
        found = values(ask("metrics/"))
        assert (found["queue_paused"], found["oldest_ready_seconds"]) == ({("mail",): 1}, {("mail",): 0})
        assert "wait_seconds_p95" not in found  # not known, which is not 0

    def test_a_database_that_is_away_is_down_and_has_no_numbers(self, no_database, ask):
        answer = ask("metrics/")
        assert answer.status_code == 200
        assert values(answer) == {"up": {(): 0}}

    def test_hostile_names_fake_no_metric(self, worker, now, ask):
        put(queue_name='x"} 1\nlocqueue_up{database="y', run_after=now)
        assert values(ask("metrics/"))["up"] == {(): 1}

    def test_open_metrics_are_given_to_who_asks_for_them(self, worker, ask):
        answer = ask("metrics/", accept="application/openmetrics-text; version=1.0.0")
        assert answer["Content-Type"].startswith("application/openmetrics-text")
        assert answer.content.endswith(b"# EOF\n")

    def test_without_the_library_it_says_what_to_install(self, worker, ask, monkeypatch):
        import django_locqueue.monitoring as monitoring

        monkeypatch.delattr(monitoring, "prometheus", raising=False)
        monkeypatch.setitem(sys.modules, "django_locqueue.monitoring.prometheus", None)
        answer = ask("metrics/")
        assert answer.status_code == 501
        assert "pip install 'django-locqueue[prometheus]'" in answer.content.decode()
