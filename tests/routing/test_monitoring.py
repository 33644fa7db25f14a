"""E3: how the queue is, is asked where the queue is; with queues in several databases all of them are shown."""

import json
from dataclasses import replace

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from django_locqueue.observability.snapshot import Snapshot, WorkerNow, WorkerState
from django_locqueue.observability.verdict import Level, Limits, Verdict, judge
from tests import tasks
from tests.routing.conftest import OURS

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "second"])

NO_WORKER = "No worker is running. Tasks wait until you start one: python manage.py runqueue"
TOKEN = "metrics-token-0123456789"


@pytest.fixture(autouse=True)
def monitored(settings):
    settings.ROOT_URLCONF = "tests.monitoring.urls"
    settings.LOCQUEUE = {**settings.LOCQUEUE, "MONITORING": {"METRICS_TOKEN": TOKEN}}


@pytest.fixture
def two_databases(settings):
    """Two aliases for three backends. In tests both lead to the same tables."""
    settings.TASKS = {
        "default": {"BACKEND": OURS, "QUEUES": []},
        "reports": {"BACKEND": OURS, "QUEUES": [], "OPTIONS": {"DATABASE": "second"}},
        "more": {"BACKEND": OURS, "QUEUES": [], "OPTIONS": {"DATABASE": "second"}},
    }
    tasks.add.enqueue(1)


def status(capsys, *words):
    call_command("queue_status", "--json", *words)
    return json.loads(capsys.readouterr().out)


def get(path):
    return Client().get(f"/queue/{path}", headers={"Authorization": f"Bearer {TOKEN}"})


def test_commands_and_views_read_where_the_queue_is(project, traffic, capsys):
    tasks.add.enqueue(1)
    found = status(capsys)
    assert [each["name"] for each in found["databases"]] == [project]
    assert found["totals"]["ready"] == 1
    call_command("queue_prune", "--yes")
    assert get("status.json").json()["totals"]["ready"] == found["totals"]["ready"]
    assert (
        f'locqueue_tasks{{database="{project}",queue="default",state="ready"}} 1.0' in get("metrics/").content.decode()
    )
    assert traffic.goes_only_to(project)


def test_the_doctor_looks_at_the_database_of_the_queue(project, traffic, capsys):
    call_command("queue_doctor")
    assert capsys.readouterr().out.startswith(f"Database {project} (")
    assert traffic.goes_only_to(project)


def test_queues_of_several_databases_are_all_shown(two_databases, capsys):
    found = status(capsys)
    assert [each["name"] for each in found["databases"]] == ["default", "second"]  # once, though two backends share it
    assert [(each["database"], each["name"]) for each in found["queues"]] == [
        ("default", "default"),
        ("second", "default"),
    ]
    assert found["totals"]["ready"] == 2
    assert found["problems"][:2] == [f"{alias}: {NO_WORKER}" for alias in ("default", "second")]
    assert get("status.json").json()["totals"]["ready"] == found["totals"]["ready"]
    assert 'locqueue_tasks{database="second",queue="default",state="ready"} 1.0' in get("metrics/").content.decode()
    call_command("queue_status")
    text = capsys.readouterr().out
    assert text.index("DATABASE default\nQUEUE ") < text.index("DATABASE second\nQUEUE ")


def test_one_of_several_databases_is_picked_by_its_backend(two_databases, capsys):
    assert [each["name"] for each in status(capsys, "--backend", "reports")["databases"]] == ["second"]


def test_the_worst_of_several_databases_decides(db):
    at = timezone.now()
    first = Snapshot("default", at, workers=[worker_now("web-1", queues=["default"])])
    second = Snapshot("second", at, workers=[worker_now("web-2", queues=["reports"])])
    limits = Limits(max_wait=60, max_failed=10, min_workers=1)
    assert judge([first, second], limits).level == Level.OK
    assert judge([first, replace(second, failed_hour=11)], limits) == Verdict(
        Level.WARNING, ["second: 11 tasks failed in the last hour"]
    )
    assert judge([replace(first, failed_hour=11), replace(second, workers=[])], limits) == Verdict(
        Level.CRITICAL, [f"second: {NO_WORKER}", "default: 11 tasks failed in the last hour"]
    )


def worker_now(name, queues):
    at = timezone.now()
    numbers = {"id": 1, "slots": 4, "busy": 0, "heartbeat_seconds": 1.0, "succeeded": 0, "failed": 0, "memory_mb": None}
    texts = {"version": "1", "code_version": ""}
    return WorkerNow(name=name, state=WorkerState.IDLE, queues=queues, running=[], started_at=at, **numbers, **texts)
