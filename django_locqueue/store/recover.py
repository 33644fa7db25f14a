"""What keeps the queue going whoever dies: heartbeats, rescue, promotion, pruning."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from django.db import DatabaseError
from django.db.models import Exists, OuterRef, Q, QuerySet

from django_locqueue.exceptions import WorkerLost
from django_locqueue.models import FINISHED, State, Task, TaskAttempt, Worker, turn, turn_of
from django_locqueue.models.task import ATTEMPT_INDEX, NAME_LENGTH, PAYLOAD_COLUMNS, TaskQuerySet
from django_locqueue.models.worker import CODE_VERSION_LENGTH, WorkerQuerySet
from django_locqueue.policies import retry
from django_locqueue.policies.fingerprint import kind_of
from django_locqueue.policies.outcome import Outcome, class_path, shortened
from django_locqueue.policies.terms import UNIQUE_ITEMS
from django_locqueue.store.base import cancelled, repeated, unlocked
from django_locqueue.store.steps import End, Stepping
from django_locqueue.store.unique import FreeingItems
from django_locqueue.store.values import Claimed, Key

logger = logging.getLogger("django_locqueue.store")

SOON_SECONDS = 1.0  # how often maintenance looks for due tasks, at least; of earlier ones it has to hear
SETTLED_AFTER_SECONDS = 60.0  # a claim that a dead worker had sent may commit after its end
MOST_CRASHES = 32_767  # what their column holds
LOST = kind_of(class_path(WorkerLost), "The worker died while running it.", None)  # however often it was
BATCH = 500  # rows of one transaction: milliseconds, so that nobody waits for maintenance


@dataclass(frozen=True, slots=True)
class Rescued:
    """A task that was taken back from a dead worker, and the state it is in now."""

    id: int
    state: str
    worker_name: str
    crashes: int
    backend_alias: str
    queue_name: str
    task_path: str
    at: datetime


class Recovering(FreeingItems, Stepping):
    @property
    def workers(self) -> WorkerQuerySet:
        return WorkerQuerySet(Worker, using=self.alias)

    @repeated
    def register_worker(
        self,
        name: str,
        *,
        lease: float,
        queues: str = "",
        threads: int = 1,
        version: str = "",
        code_version: str = "",
        now: datetime | None = None,
    ) -> Worker:
        """Add a worker whose lease of ``lease`` seconds begins now."""
        time = self.time(now)
        worker = Worker(
            # One line, as worker_ids keeps them; shortened, since a rescue writes it into an attempt.
            name=shortened(" ".join(name.split()), NAME_LENGTH),
            queues=queues,
            threads=threads,
            version=version,
            code_version=shortened(code_version, CODE_VERSION_LENGTH),
            started_at=time,
            heartbeat_at=time,
            lease_until=time + timedelta(seconds=lease),
        )
        worker.save(using=self.alias, force_insert=True)
        worker.refresh_from_db(using=self.alias)
        return worker

    @repeated
    def heartbeat(
        self,
        worker_id: int,
        *,
        lease: float,
        stopping: bool = False,
        dismissed: bool = False,
        shown: Mapping[str, int] = MappingProxyType({}),
        now: datetime | None = None,
    ) -> bool:
        """Extend the lease by ``lease`` seconds from now. False: the worker was given up, and must register anew.

        Also False where one was asked to stop that has not heard of it (``dismissed``): this is the only statement of
        most beats. ``stopping``: it takes no more tasks. ``shown``: columns of its row that pages show, ``succeeded``
        for instance.
        """
        time = self.time(now)
        asked = {} if dismissed else {"stop_requested": False}
        return bool(
            self.workers.filter(pk=worker_id, stopped_at=None, **asked).update(
                heartbeat_at=time, lease_until=time + timedelta(seconds=lease), stopping=stopping, **shown
            )
        )

    @repeated
    def ask_worker_to_stop(self, worker_id: int) -> bool:
        """Let a worker read with its next heartbeat that it shall leave. False: it has stopped, or was asked before."""
        live = self.workers.filter(pk=worker_id, stopped_at=None, stop_requested=False)
        return bool(live.update(stop_requested=True))

    def is_asked_to_stop(self, worker_id: int) -> bool:
        return self.workers.filter(pk=worker_id, stop_requested=True).exists()

    @repeated
    def stop_worker(
        self, worker_id: int, *, shown: Mapping[str, int] = MappingProxyType({}), now: datetime | None = None
    ) -> None:
        self.workers.filter(pk=worker_id, stopped_at=None).update(stopped_at=self.time(now), **shown)

    def confirm(self, ended: Sequence[tuple[Claimed, Outcome]]) -> dict[Key, State]:
        """After an ack whose answer was lost: return the state of each task whose outcome was stored all the same.

        Only the ack of a claim ends it without counting a crash or a new claim. A row that is gone was deleted by an
        ack that keeps no row.
        """
        rows = self.tasks.filter(pk__in=[task.id for task, _ in ended])
        found = {row[0]: row[1:] for row in rows.values_list("pk", "claim_no", "crashes", "state")}
        confirmed = {}
        for task, outcome in ended:
            end = State(outcome.kind.value) if outcome.kind.value in FINISHED else None
            if task.id not in found:
                if not outcome.keep_row:
                    confirmed[task.key] = end or State.CANCELLED
                continue
            claim_no, crashes, state = found[task.id]
            if (claim_no, crashes) == (task.claim_no, task.crashes) and state != State.RUNNING and end in (None, state):
                confirmed[task.key] = State(state)
        return confirmed

    def asked_to_stop(self, running: Sequence[Key]) -> set[int]:
        """Return the ids of those of a worker's running tasks that someone cancelled.

        By their ids, and not by the worker: the index of what runs keeps all that it has run of late, for as long as
        any transaction can see it so.
        """
        asked = self.by_key([task_id for task_id, _ in running], State.RUNNING).filter(cancel_requested=True)
        return {task_id for task_id, claim_no in asked.values_list("pk", "claim_no") if (task_id, claim_no) in running}

    @repeated
    def rescue(
        self,
        *,
        max_crashes: int,
        by_backend: Mapping[str, int] = MappingProxyType({}),
        thorough: bool = True,
        limit: int = BATCH,
        now: datetime | None = None,
    ) -> list[Rescued]:
        """Give up expired workers and take back their running tasks, row by row, each charged one crash.

        ``thorough``: look at all that is running, for what belongs to a worker without a row; else only at what the
        workers had that are not settled, which costs the same however much has run since the oldest transaction began.

        At ``max_crashes``, or what ``by_backend`` says for its backend's alias, a task is failed; before, it is ready
        again at once, later after a growing wait, so that a task that kills its worker lets others have a turn.
        Any worker may do this at any time. Sends no signal: ``endings.rescue`` does.
        """
        time = self.time(now)
        if not self._anything_to_rescue(time, thorough=thorough):
            return []
        with self.transaction():
            # Passed over where somebody holds the row: a sweep that waits would hold up promotion too.
            expired = self.workers.expired(time).select_for_update(skip_locked=True)
            if dead := list(expired.values_list("pk", flat=True)):
                self.workers.filter(pk__in=dead).update(stopped_at=time)
            orphaned = self._orphaned(thorough=thorough)
            some = set(orphaned[:limit].values_list("workflow_id", flat=True))
            workflows = self._locked_workflows(some, skip_locked=True)
            busy = self._existing_workflows(some - {None} - workflows.keys())
            locked = list(self._locked(orphaned[:limit]).values_list("pk", flat=True))
            # Looked at again under the lock: when PostgreSQL finds a row changed since the statement began, it checks
            # the row anew but not the worker beside it, and a task that a live worker has just claimed would pass. And
            # locked again, which costs nothing: MariaDB would else show the rows as the transaction first saw them.
            again = self._locked(orphaned.filter(pk__in=locked)) if locked else self.tasks.none()
            orphans = again.defer(*PAYLOAD_COLUMNS)
            at = self.moment(now)
            rescued, ends = [], []
            for task in orphans:
                # What came into sight only now, or whose workflow somebody else holds, waits for the next sweep.
                if task.workflow_id is not None and (task.workflow_id not in some or task.workflow_id in busy):
                    continue
                done = self._try_to_rescue(task, by_backend.get(task.backend_alias, max_crashes), time, at)
                if done is None:
                    continue
                rescued.append(done)
                if task.workflow_id in workflows and done.state in FINISHED:
                    ends.append(End(task.workflow_id, State(done.state)))
            self._count_ends(workflows, ends, now)
            self._settle(time)
            return rescued

    def has_orphans(self) -> bool:
        """Whether a task runs on paper whose worker is dead, be it noted already or not."""
        live = self.workers.live(self.time(None)).filter(pk=OuterRef("worker"))
        orphans = self.tasks.running().filter(~Exists(live)).order_by("worker_id", "id")
        return bool(orphans.values_list("pk", flat=True)[:1])

    def _anything_to_rescue(self, time: Any, *, thorough: bool) -> bool:
        """Whether to begin at all: the sweeps of idle workers are two cheap reads."""
        if (self.workers.expired(time) | self.workers.unsettled()).exists():
            return True
        # A slice and not exists(), which drops the order: with statistics of an empty table that reads the whole table.
        return thorough and bool(self._orphaned(thorough=True).values_list("pk", flat=True)[:1])

    def _orphaned(self, *, thorough: bool) -> TaskQuerySet:
        running = self.tasks.running()
        if not thorough:
            running = running.filter(worker_id__in=list(self.workers.unsettled().values_list("pk", flat=True)))
        live = self.workers.filter(pk=OuterRef("worker"), stopped_at=None)
        # In the order of the index of running rows: in that of their ids, SQLite walks the whole table.
        return running.filter(~Exists(live)).order_by("worker_id", "id")

    def _settle(self, time: Any) -> None:
        """Note which stopped workers have nothing running any more, so that no sweep looks at them again."""
        stopped = self.workers.unsettled().filter(stopped_at__lte=time - timedelta(seconds=SETTLED_AFTER_SECONDS))
        settled = [
            pk
            for pk in stopped.values_list("pk", flat=True)
            if not self.tasks.running().filter(worker_id=pk).order_by("worker_id", "id").values_list("pk")[:1]
        ]
        if settled:
            self.workers.filter(pk__in=settled).update(settled=True)

    def _try_to_rescue(self, task: Task, max_crashes: int, time: Any, at: datetime) -> Rescued | None:
        """Rescue one, or leave it for the next sweep: a row that cannot be written holds up no other."""
        try:
            with self.transaction():
                return self._rescue_one(task, max_crashes, time, at)
        except DatabaseError as error:
            # Where the connection is gone, no row can be written: each would say so, for as long as that takes.
            if self.is_transient(error) or not self.connection.is_usable():
                raise
            logger.exception("Task %d could not be rescued from its dead worker; trying again later.", task.pk)
            return None

    def _rescue_one(self, task: Task, max_crashes: int, time: Any, at: datetime) -> Rescued | None:
        crashes = min(task.crashes + 1, MOST_CRASHES)
        worker_name = (task.worker_names or [""])[-1][:NAME_LENGTH]
        error = {
            "error_class": class_path(WorkerLost),
            "error_message": f"The worker died while running it, {crashes} time{'s' if crashes > 1 else ''}.",
        }
        if task.cancel_requested:
            changes = cancelled(task.cancel_reason, time)
        elif crashes >= max_crashes:
            changes = {"state": State.FAILED, "finished_at": time, **unlocked()}
        elif crashes > 1:
            wait = timedelta(seconds=retry.exponential(crashes - 1))
            changes = {"state": State.SCHEDULED, "run_after": time + wait}
        else:
            changes = {"state": turn_of(task.limit_key)}
        # Fenced like every outcome, although the row is locked: not every database's lock was asked for the same row.
        changes = {"crashes": crashes, "worker": None, **error, "error_group": LOST.fingerprint, **changes}
        if not self.fenced(task.pk, task.claim_no).update(**changes):
            return None
        if changes["state"] in FINISHED and UNIQUE_ITEMS in (task.terms or ""):
            self._free_items_of([task.pk])
        TaskAttempt.objects.using(self.alias).create(
            task_id=task.pk,
            number=task.attempt,
            outcome=TaskAttempt.Outcome.CRASHED,
            worker_name=worker_name,
            started_at=task.last_attempted_at,
            finished_at=time,
            **error,
        )
        which = (task.backend_alias, task.queue_name, task.task_path)
        return Rescued(task.pk, changes["state"], worker_name, crashes, *which, at)

    @repeated
    def promote(self, *, limit: int = BATCH, now: datetime | None = None) -> int:
        """Make due tasks ready, at most ``limit``; return how many. Any worker may do this at any time."""
        with self.transaction():
            due = self._locked(self.tasks.due(self.time(now)).order_by("run_after", "id")[:limit])
            ids = list(due.values_list("pk", flat=True))
            return self._make_ready(ids) if ids else 0

    def _make_ready(self, ids: list[int]) -> int:
        return self.by_key(ids, State.SCHEDULED).update(state=turn())

    def outlived(self, state: str, days: float, *, now: datetime | None = None) -> TaskQuerySet:
        """Return the tasks that ended so more than ``days`` days ago, and that nothing waits for, the oldest first."""
        old = self.tasks.filter(state=state, finished_at__lte=self.time(now) - timedelta(days=days))
        # A result may still be needed by the next step.
        goes_on = Exists(self.workflows.filter(pk=OuterRef("workflow_id"), finished_at=None))
        return old.filter(Q(workflow_id=None) | ~goes_on).order_by("finished_at", "id")

    @repeated
    def prune(self, retention: Mapping[str, float | None], *, limit: int = BATCH, now: datetime | None = None) -> int:
        """Delete finished tasks older than ``retention`` days of their state, at most ``limit`` of each.

        ``retention``: ``{"successful": 7, "failed": None, ...}``; None keeps them. Return how many were deleted.
        """
        deleted = 0
        for state, days in retention.items():
            if days is None:
                continue
            old = self.outlived(state, days, now=now)
            # Chosen by a read, which locks no part of the index where others write, nor opens a transaction for each
            # idle worker's look; then locked by their keys.
            if ids := list(old.values_list("pk", flat=True)[:limit]):
                with self.transaction():
                    chosen = self._locked(self.by_key(ids, state).order_by("id"))
                    deleted += self._delete(list(chosen.values_list("pk", flat=True)))
        return deleted

    @repeated
    def prune_workers(self, *, hours: float, now: datetime | None = None) -> int:
        """Delete the rows of workers that stopped more than ``hours`` ago."""
        old = self.time(now) - timedelta(hours=hours)
        return self.workers.filter(stopped_at__lt=old).delete()[0]

    def _delete(self, ids: list[int]) -> int:
        if not ids:
            return 0
        self._delete_by(TaskAttempt, "task_id", ids, ATTEMPT_INDEX)
        # All of them, whoever has to wait: no later sweep would find what is left without its task.
        self._free_items_of(ids, self.for_update)
        return self._delete_by(Task, "id", ids, "PRIMARY")

    def _locked(self, queryset: QuerySet[Task]) -> QuerySet[Task]:
        """Lock the rows that nobody else holds; another worker takes the rest."""
        return queryset.select_for_update(skip_locked=True, of=("self",) if self._locks_by_table else ())

    _locks_by_table = True
