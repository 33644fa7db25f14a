"""Each pair of transitions at the same moment: every row has one of the allowed ends, and nobody sees an error."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import pytest
from django.db import connection

from django_locqueue.models import Task, TaskAttempt
from django_locqueue.policies.outcome import Kind
from django_locqueue.store import Claimed, Store
from django_locqueue.store.serve import Owner
from tests.store.races import isolated, race
from tests.store.rows import ago, call, later, outcome, put

pytestmark = pytest.mark.django_db(transaction=True)

ROWS = 12  # raced for at once, in another order by each side
ROUNDS = 3


@dataclass
class Scene:
    """Rows in one state, and the verbs that are let loose on them. Each returns the ids that it changed."""

    store: Store
    owner: Owner
    other: Owner
    ids: list[int] = field(default_factory=list)
    tasks: list[Claimed] = field(default_factory=list)

    # -- how the rows stand before

    def set(self, start: str) -> None:
        Task.objects.all().delete()
        if start in ("running", "orphaned"):
            self.store.enqueue_many([call(max_attempts=3) for _ in range(ROWS)])
            self.tasks = self.store.claim(self.owner, ROWS)
            self.ids = [task.id for task in self.tasks]
            if start == "orphaned":
                self.store.stop_worker(self.owner.id)
        else:
            times: dict[str, Any] = {
                "scheduled": {"run_after": ago(seconds=1)},
                "failed": {"finished_at": ago(days=1), "attempt": 1, "worker_ids": "x\n", "claim_no": 1},
            }
            self.ids = [put(start, **times.get(start, {})) for _ in range(ROWS)]

    def shuffled(self) -> list[int]:
        return random.sample(self.ids, len(self.ids))

    def ended(self, kind: Kind) -> list[int]:
        tasks = random.sample(self.tasks, len(self.tasks))
        return sorted(pk for pk, _ in self.store.ack([(task, outcome(kind)) for task in tasks]))

    # -- the verbs

    def claim(self) -> list[int]:
        return [task.id for task in self.store.claim(self.other, ROWS)]

    def succeed(self) -> list[int]:
        return self.ended(Kind.SUCCESSFUL)

    def fail(self) -> list[int]:
        return self.ended(Kind.FAILED)

    def retry(self) -> list[int]:
        return self.ended(Kind.RETRIED)

    def release(self) -> list[int]:
        return self.ended(Kind.RELEASED)

    def rescue(self) -> list[int]:
        return [rescued.id for rescued in self.store.rescue(max_crashes=3, now=ago(hours=1))]

    def promote(self) -> list[int]:
        return self.ids[: self.store.promote()]

    def prune(self) -> list[int]:
        return self.ids[: self.store.prune({"failed": 0})]

    def requeue(self) -> list[int]:
        return self.store.requeue(self.shuffled())

    def run_now(self) -> list[int]:
        return self.store.run_now(self.shuffled())

    def put_off(self) -> list[int]:
        return self.store.change_time(self.shuffled(), later(days=36_500))

    def put_back(self) -> list[int]:
        return [rescued.id for rescued in self.store.put_back(self.shuffled())]

    def dismiss(self) -> list[int]:
        return self.store.dismiss(self.shuffled())

    def delete(self) -> list[int]:
        return self.store.delete(self.shuffled())

    def cancel(self) -> list[int]:
        cancelled, asked = self.store.cancel(self.shuffled())
        return cancelled + asked


@pytest.fixture
def scene(store: Store, owner: Owner, other: Owner) -> Scene:
    return Scene(store, owner, other)


@pytest.fixture(params=["default", "repeatable read"])
def around(request: pytest.FixtureRequest, db: None) -> Callable[..., Any]:
    """Return what wraps a verb so that its connection has the isolation level of this test."""
    if request.param == "default":
        return lambda function: function
    if connection.vendor == "sqlite":
        pytest.skip("SQLite has one isolation level")
    return isolated


GONE = None
# What a row may be afterwards: its state, and in brackets columns that must not be zero or false then.
RACES = [
    # start, one verb, the other, the ends that are allowed
    ("ready", "claim", "claim", {"running"}),
    ("ready", "claim", "cancel", {"running [cancel_requested]", "cancelled"}),
    ("ready", "claim", "delete", {"running", GONE}),
    ("ready", "cancel", "cancel", {"cancelled"}),
    ("ready", "cancel", "delete", {GONE}),
    ("ready", "delete", "delete", {GONE}),
    ("ready", "claim", "put_off", {"running", "scheduled"}),
    ("ready", "cancel", "put_off", {"cancelled"}),
    ("scheduled", "promote", "put_off", {"scheduled"}),
    ("scheduled", "claim", "run_now", {"ready", "running"}),
    ("scheduled", "claim", "promote", {"ready", "running"}),
    ("scheduled", "promote", "promote", {"ready"}),
    ("scheduled", "promote", "run_now", {"ready"}),
    ("scheduled", "promote", "cancel", {"cancelled"}),
    ("scheduled", "promote", "delete", {GONE}),
    ("scheduled", "run_now", "run_now", {"ready"}),
    ("scheduled", "run_now", "cancel", {"cancelled"}),
    ("scheduled", "run_now", "delete", {GONE}),
    ("running", "succeed", "succeed", {"successful"}),
    ("running", "succeed", "fail", {"successful", "failed"}),
    ("running", "succeed", "release", {"successful", "ready"}),
    ("running", "succeed", "cancel", {"successful", "successful [cancel_requested]"}),
    ("running", "succeed", "delete", {"successful", GONE}),
    ("running", "fail", "requeue", {"failed", "ready"}),
    ("running", "fail", "prune", {"failed", GONE}),
    ("running", "fail", "cancel", {"failed", "failed [cancel_requested]"}),
    ("running", "retry", "cancel", {"cancelled", "cancelled [cancel_requested]"}),
    ("running", "retry", "claim", {"ready", "running"}),
    ("running", "retry", "delete", {"ready", GONE}),
    ("running", "release", "cancel", {"cancelled", "cancelled [cancel_requested]"}),
    ("running", "release", "claim", {"ready", "running"}),
    ("orphaned", "rescue", "rescue", {"ready [crashes]"}),
    ("orphaned", "rescue", "succeed", {"successful", "ready [crashes]"}),
    ("orphaned", "rescue", "retry", {"ready", "ready [crashes]"}),
    ("orphaned", "rescue", "release", {"ready", "ready [crashes]"}),
    ("orphaned", "rescue", "claim", {"ready [crashes]", "running [crashes]"}),
    ("orphaned", "rescue", "cancel", {"cancelled [crashes]", "cancelled [crashes cancel_requested]"}),
    ("orphaned", "rescue", "delete", {"ready [crashes]", GONE}),
    ("orphaned", "put_back", "put_back", {"ready [crashes]"}),
    ("orphaned", "put_back", "rescue", {"ready [crashes]"}),
    ("orphaned", "put_back", "succeed", {"successful", "ready [crashes]"}),
    ("orphaned", "put_back", "cancel", {"cancelled [crashes]", "cancelled [crashes cancel_requested]"}),
    ("failed", "requeue", "dismiss", {"ready"}),
    ("failed", "dismiss", "dismiss", {"failed [dismissed]"}),
    ("failed", "requeue", "requeue", {"ready"}),
    ("failed", "requeue", "delete", {GONE}),
    ("failed", "requeue", "prune", {"ready", GONE}),
    ("failed", "requeue", "claim", {"ready", "running"}),
    ("failed", "requeue", "cancel", {"ready", "cancelled"}),
    ("failed", "prune", "prune", {GONE}),
    ("failed", "prune", "delete", {GONE}),
]
ONCE = {
    "claim",
    "succeed",
    "rescue",
    "promote",
    "prune",
    "requeue",
    "run_now",
    "delete",
    "put_back",
    "dismiss",
}  # × itself: by one of the two


def end(task: Task) -> str:
    marks = [column for column in ("crashes", "cancel_requested", "dismissed") if getattr(task, column)]
    return f"{task.state} [{' '.join(marks)}]" if marks else task.state


@pytest.mark.parametrize(("start", "one", "two", "allowed"), RACES, ids=[f"{a}-{b}-{c}" for a, b, c, _ in RACES])
def test_every_row_ends_as_if_one_had_come_after_the_other(
    scene: Scene, around: Callable[..., Any], start: str, one: str, two: str, allowed: set[str | None]
):
    for _ in range(ROUNDS):
        scene.set(start)
        changed = race(around(getattr(scene, one)), around(getattr(scene, two)))
        if {"rescue", "put_back"} & {one, two}:
            changed.append(scene.rescue())  # a sweep passes over locked rows; the next takes them
        rows = {task.pk: task for task in Task.objects.all()}
        ends = {end(rows[pk]) if pk in rows else GONE for pk in scene.ids}
        assert ends <= allowed
        if one == two and one in ONCE:
            assert sum(map(len, changed)) == ROWS
        if {one, two} <= {"succeed", "fail", "retry", "release", "rescue"}:
            assert sorted(chain(*changed)) == sorted(scene.ids)  # each outcome has one author
        for task in rows.values():
            assert task.attempt == len(task.worker_names)
            assert (task.finished_at is not None) == task.is_finished
            assert (task.worker_id is not None) == (task.state == "running")
        orphans = TaskAttempt.objects.exclude(task_id__in=rows)
        assert not orphans.exists()


@pytest.mark.parametrize("round_", range(5))
def test_a_worker_is_either_given_up_or_keeps_its_tasks(store: Store, around: Callable[..., Any], round_: int):
    worker = store.register_worker("slow", lease=1, now=ago(seconds=5))
    store.enqueue_many([call() for _ in range(ROWS)])
    store.claim(Owner(worker.pk, worker.name), ROWS)
    alive, rescued = race(
        around(lambda: store.heartbeat(worker.pk, lease=60, now=later(seconds=0))),
        around(lambda: store.rescue(max_crashes=3, now=later(seconds=0))),
    )
    assert len(rescued) == (0 if alive else ROWS)
    assert Task.objects.running().count() == (ROWS if alive else 0)


def test_two_people_who_pause_a_queue_pause_it_once(store: Store, around: Callable[..., Any]):
    for number in range(5):
        paused = race(*[around(lambda name=f"queue {number}": store.pause(name)) for _ in range(2)])
        assert sorted(paused) == [False, True]


# -- many claimers


@pytest.mark.parametrize("queues", [1, 3])
def test_a1_four_claimers_get_each_task_exactly_once(store: Store, around: Callable[..., Any], queues: int):
    store.enqueue_many([call(queue_name=f"q{number % queues}", priority=number % 3) for number in range(500)])

    def work(number: int) -> list[int]:
        owner = Owner(number, f"worker {number}")
        mine: list[int] = []
        empty = 0
        while empty < 2:  # a claim may come back empty while another holds the last rows
            claimed = store.claim(owner, random.randint(1, 12))
            empty = 0 if claimed else empty + 1
            mine += [task.id for task in claimed]
        return mine

    claimed = race(*[around(lambda number=number: work(number)) for number in range(1, 5)])
    ids = list(chain(*claimed))
    assert len(ids) == len(set(ids)) == 500
    for number, mine in enumerate(claimed, start=1):
        assert set(Task.objects.filter(worker_id=number).values_list("pk", flat=True)) == set(mine)
    assert set(Task.objects.values_list("state", "claim_no", "attempt")) == {("running", 1, 1)}
