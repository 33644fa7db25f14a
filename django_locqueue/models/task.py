"""The task: one stored call, the querysets that name its states, its tries, and what it holds. Facts only; the store
writes."""

from typing import Any, ClassVar

from django.db import models
from django.db.models import Case, F, Q, Value, When
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from django_locqueue.models.fields import JSONTextField, MomentField, NameField, QueueManager
from django_locqueue.models.indexes import IsOpen, IsOpenOfAKind, PartialIndex
from django_locqueue.policies import legible

NAME_LENGTH = 128  # of queues and workers; MySQL's index limit is 191 characters of utf8mb4
PATH_LENGTH = 255
KEY_LENGTH = 255  # of what a task is unique or limited by
ATTEMPT_INDEX = "locqueue_taskattempt_task"
PAYLOAD_COLUMNS = ("args_kwargs", "return_value", "metadata", "log")  # large ones, not to be read where many rows are


def queue_name_problem(name: Any) -> str | None:
    """Return in words why this can be no queue's name; None if it can."""
    if not isinstance(name, str) or not 1 <= len(name) <= NAME_LENGTH or not name.isprintable():
        return f"must be 1 to {NAME_LENGTH} printable characters, got {name!r}."
    # `--queue` and the rows of workers write queues as "a,b", "all" and "all,-c".
    if "," in name or name.startswith("-") or name == "all":
        return f'must have no comma and no "-" in front, and not be "all": these choose among queues; got {name!r}.'
    return None


def worker_names(worker_ids: str) -> list[str]:
    """Return the names in a ``worker_ids`` column, or in its end: the first attempt's first."""
    # Not splitlines(), to which a dozen more characters end a line.
    names = worker_ids.split("\n")
    return names if names[-1] else names[:-1]


class State(models.TextChoices):
    """Where a task is in its life. Django's four statuses are derived, see ``result.py``."""

    SCHEDULED = "scheduled", _("Scheduled")  # its time has not come: delayed, or waiting to retry
    READY = "ready", _("Ready")
    RUNNING = "running", _("Running")
    BLOCKED = "blocked", _("Blocked")  # it waits for its turn: under a limit, or behind a step of its workflow
    SUCCESSFUL = "successful", _("Succeeded")
    FAILED = "failed", _("Failed")
    CANCELLED = "cancelled", _("Cancelled")


WAITING = (State.SCHEDULED, State.READY, State.BLOCKED)
STARTABLE = (State.READY, State.BLOCKED)  # the latter as soon as its limit allows
FINISHED = (State.SUCCESSFUL, State.FAILED, State.CANCELLED)


def turn() -> Case:
    """Return the state of a task whose time has come: one that is limited waits for its turn."""
    return Case(When(limit_key__isnull=True, then=Value(State.READY)), default=Value(State.BLOCKED))


def turn_of(limit_key: str | None) -> State:
    """Return the same of one task that is at hand."""
    return State.READY if limit_key is None else State.BLOCKED


class TaskQuerySet(models.QuerySet["Task"]):
    """Adjectives for tasks."""

    def pending(self) -> "TaskQuerySet":
        """Not yet taken by a worker: scheduled, ready or blocked."""
        return self.filter(state__in=WAITING)

    def scheduled(self) -> "TaskQuerySet":
        return self.filter(state=State.SCHEDULED)

    def ready(self) -> "TaskQuerySet":
        return self.filter(state=State.READY)

    def limited(self) -> "TaskQuerySet":
        """Waiting for their turn under a limit."""
        return self.filter(state=State.BLOCKED, limit_key__isnull=False)

    def running(self) -> "TaskQuerySet":
        return self.filter(state=State.RUNNING)

    def failed(self) -> "TaskQuerySet":
        return self.filter(state=State.FAILED)

    def successful(self) -> "TaskQuerySet":
        return self.filter(state=State.SUCCESSFUL)

    def cancelled(self) -> "TaskQuerySet":
        return self.filter(state=State.CANCELLED)

    def finished(self) -> "TaskQuerySet":
        return self.filter(state__in=FINISHED)

    def retried(self) -> "TaskQuerySet":
        """Tried more than once."""
        return self.filter(attempt__gt=1)

    def retrying(self) -> "TaskQuerySet":
        """Failed before, and waiting to be tried again."""
        return self.filter(state=State.SCHEDULED, attempt__gte=1)

    def due(self, now: Any) -> "TaskQuerySet":
        """Scheduled, and their time has come. ``now``: a datetime or the database's clock."""
        return self.filter(state=State.SCHEDULED, run_after__lte=now)


class TaskManager(QueueManager.from_queryset(TaskQuerySet)):  # type: ignore[misc]
    pass


class Task(models.Model):
    """One stored call. Order of service within a queue: ``priority DESC, run_after, id``."""

    id = models.BigAutoField(primary_key=True)
    state = models.CharField(_("state"), max_length=10, choices=State, default=State.READY)
    queue_name = NameField(_("queue"), max_length=NAME_LENGTH, default="default")
    priority = models.SmallIntegerField(_("priority"), default=0)
    run_after = MomentField(_("run after"), default=timezone.now)
    task_path = models.CharField(_("task"), max_length=PATH_LENGTH)
    backend_alias = models.CharField(_("backend"), max_length=NAME_LENGTH, default="default")
    args_kwargs = JSONTextField(_("arguments"))

    attempt = models.PositiveIntegerField(_("attempt"), default=0)  # tries begun; the present one while it runs
    max_attempts = models.PositiveIntegerField(_("most attempts"), default=1)
    crashes = models.PositiveSmallIntegerField(_("crashes"), default=0)  # tries that ended with the worker's death
    claim_no = models.PositiveIntegerField(_("claim number"), default=0)  # the fencing token
    worker = models.ForeignKey(
        "locqueue.Worker",
        verbose_name=_("worker"),
        null=True,
        blank=True,
        on_delete=models.DO_NOTHING,
        # History must not hold worker rows, nor their deletion rewrite millions of tasks.
        db_constraint=False,
        # The partial index below is the one that is wanted; a plain one would be written at every claim.
        db_index=False,
        related_name="+",
    )
    worker_ids = models.TextField(_("workers"), default="", blank=True)  # a name a line, one for each attempt

    enqueued_at = MomentField(_("added"), default=timezone.now)
    started_at = MomentField(_("started"), null=True, blank=True)  # the first attempt's start
    last_attempted_at = MomentField(_("last attempt"), null=True, blank=True)
    finished_at = MomentField(_("finished"), null=True, blank=True)

    return_value = JSONTextField(_("result"), null=True, blank=True)
    error_class = models.CharField(_("error"), max_length=PATH_LENGTH, default="", blank=True)
    error_message = models.CharField(_("error message"), max_length=200, default="", blank=True)  # its first line
    metadata = JSONTextField(_("metadata"), null=True, blank=True)
    cancel_requested = models.BooleanField(_("asked to stop"), default=False)  # while it ran
    # Why. With a default in the database: code of the version before inserts rows without it.
    cancel_reason = models.CharField(_("reason"), max_length=200, default="", db_default="", blank=True)

    # Of the rare options. All have a default in the database, so that the statements of plain tasks do not name them.
    unique_key = NameField(_("unique key"), max_length=KEY_LENGTH, default="", db_default="", blank=True)
    unique_lock = NameField(max_length=KEY_LENGTH, null=True, blank=True)  # the unique key while the task holds it
    unique_until = models.CharField(max_length=10, default="", db_default="", blank=True)  # started, finished, window
    unique_seconds = models.FloatField(null=True, blank=True)  # how long a window is, from enqueued_at
    limit_key = NameField(_("limit"), max_length=KEY_LENGTH, null=True, blank=True)  # under which it waits its turn
    terms = models.TextField(
        null=True, blank=True
    )  # JSON: what a worker must know of the rare options, see policies/terms
    progress = models.FloatField(_("progress"), null=True, blank=True)  # from 0 to 1
    progress_message = models.CharField(max_length=200, default="", db_default="", blank=True)
    log = JSONTextField(_("log"), null=True, blank=True)  # the last lines that its runs logged, see policies/task_log
    unknown_since = MomentField(null=True, blank=True)  # when a worker first met it that did not know its definition
    workflow = models.ForeignKey(
        "locqueue.Workflow",
        verbose_name=_("workflow"),
        null=True,
        blank=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,  # as for the worker
        db_index=False,
        related_name="tasks",
    )
    step = models.PositiveIntegerField(_("step"), default=0, db_default=0)  # of its workflow
    error_group = models.ForeignKey(
        "locqueue.ErrorGroup",
        verbose_name=_("kind of error"),
        null=True,
        blank=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,  # as for the worker
        db_index=False,
        related_name="+",
    )
    dismissed = models.BooleanField(_("dismissed"), default=False, db_default=False)  # failed, and nobody minds
    # By whom it was last retried by hand.
    retried_by = models.CharField(_("retried by"), max_length=150, default="", db_default="", blank=True)

    objects: ClassVar[TaskManager] = TaskManager()

    class Meta:
        verbose_name = _("task")
        verbose_name_plural = _("All tasks")
        default_permissions = ("view", "delete")
        permissions = [
            ("retry_task", _("Can retry tasks")),
            ("run_task", _("Can run tasks now and change their time")),
            ("cancel_task", _("Can cancel tasks")),
            ("enqueue_task", _("Can add tasks by hand (runs code)")),
            ("view_payload", _("Can see hidden arguments and results")),
            ("bulk_task", _("Can act on more than one page of tasks")),
            ("export_data", _("Can export data")),
        ]
        # Each holds only the rows that its statement looks for and is sorted as that statement asks: a claim
        # never sorts, and costs the same beside a million finished or scheduled rows.
        indexes = [
            PartialIndex(
                name="locqueue_task_ready",
                fields=["queue_name", "-priority", "run_after", "id"],
                where=Q(state=State.READY),
                otherwise=["state", "queue_name", "-priority", "run_after", "id"],
            ),
            PartialIndex(
                name="locqueue_task_scheduled",
                fields=["run_after", "id"],
                where=Q(state=State.SCHEDULED),
                otherwise=["state", "run_after", "id"],
            ),
            PartialIndex(
                name="locqueue_task_running",
                fields=["worker", "id"],
                where=Q(state=State.RUNNING),
                otherwise=["state", "worker", "id"],
            ),
            PartialIndex(
                name="locqueue_task_finished",
                fields=["state", "-finished_at", "-id"],
                # OR and not IN: SQLite sees that a state is one of an OR, but not that it is one of a list.
                where=Q(state=State.SUCCESSFUL) | Q(state=State.FAILED) | Q(state=State.CANCELLED),
                otherwise=["state", "-finished_at", "-id"],
            ),
            PartialIndex(
                name="locqueue_task_retried",
                fields=["-id"],
                where=Q(attempt__gt=1),
                otherwise=["attempt", "-id"],
            ),
            PartialIndex(
                name="locqueue_task_unique",
                fields=["unique_lock"],
                where=Q(unique_lock__isnull=False),
                otherwise=["unique_lock"],
                unique=True,
            ),
            PartialIndex(
                # Who waits under a limit, in its order. The queue first: what is paused or others serve is not read.
                name="locqueue_task_limited",
                fields=["queue_name", "limit_key", "-priority", "run_after", "id"],
                where=Q(state=State.BLOCKED, limit_key__isnull=False),
                otherwise=["state", "queue_name", "limit_key", "-priority", "run_after", "id"],
            ),
            PartialIndex(
                # Who runs under it, in whichever queue.
                name="locqueue_task_under_limit",
                fields=["limit_key", "id"],
                where=Q(state=State.RUNNING, limit_key__isnull=False),
                otherwise=["limit_key", "state"],
            ),
            PartialIndex(
                # What failed and nobody has dismissed: that may be a few behind a million.
                name="locqueue_task_open",
                fields=["-finished_at", "-id"],
                where=Q(IsOpen(F("state"), F("dismissed"))),
                otherwise=["state", "dismissed", "-finished_at", "-id"],
            ),
            PartialIndex(
                name="locqueue_task_error",
                fields=["error_group", "-finished_at", "-id"],
                where=Q(IsOpenOfAKind(F("state"), F("dismissed"))),
                otherwise=["error_group", "state", "dismissed", "-finished_at", "-id"],
            ),
            PartialIndex(
                name="locqueue_task_workflow",
                fields=["workflow", "step", "id"],
                where=Q(workflow__isnull=False),
                otherwise=["workflow", "step", "id"],
            ),
        ]

    def __str__(self) -> str:
        return legible.line(f"{self.name} #{self.pk}")

    @property
    def name(self) -> str:
        """The function's name, without its module."""
        return self.task_path.rpartition(".")[2]

    @property
    def is_finished(self) -> bool:
        return self.state in FINISHED

    @property
    def is_retrying(self) -> bool:
        """Failed before, and waiting to be tried again."""
        return self.state == State.SCHEDULED and self.attempt >= 1

    @property
    def ready_at(self) -> Any:
        """Since when it waits for a worker, or has waited. The time of a task that was put back is of its last try."""
        return max(self.enqueued_at, self.run_after) if self.attempt <= 1 else self.enqueued_at

    @property
    def worker_names(self) -> list[str]:
        """The workers that tried it, the first attempt's first."""
        return worker_names(self.worker_ids)


class TaskAttempt(models.Model):
    """What a try left that did not succeed: when, where, and the traceback. A successful try leaves none."""

    class Outcome(models.TextChoices):
        FAILED = "failed", _("Failed")
        CRASHED = "crashed", _("Worker lost")
        CANCELLED = "cancelled", _("Cancelled")

    id = models.BigAutoField(primary_key=True)
    # Without a constraint: prune deletes attempts and tasks in batches of its own.
    task = models.ForeignKey(
        Task,
        verbose_name=_("task"),
        on_delete=models.CASCADE,
        db_constraint=False,
        db_index=False,  # it has one below, by a name that a statement can say
        related_name="attempts",
    )
    number = models.PositiveIntegerField(_("number"))
    outcome = models.CharField(_("outcome"), max_length=10, choices=Outcome)
    worker_name = models.CharField(_("worker"), max_length=NAME_LENGTH)
    started_at = MomentField(_("started"), null=True)
    finished_at = MomentField(_("finished"))
    error_class = models.CharField(_("error"), max_length=PATH_LENGTH)
    error_message = models.CharField(_("error message"), max_length=200, default="", blank=True)
    traceback = models.TextField(_("traceback"), default="", blank=True)

    objects = QueueManager()

    class Meta:
        verbose_name = _("attempt")
        verbose_name_plural = _("attempts")
        default_permissions = ()
        indexes = [models.Index(fields=["task"], name=ATTEMPT_INDEX)]

    def __str__(self) -> str:
        return f"attempt {self.number} of #{self.task_id}"


class UniqueItem(models.Model):
    """An item of a list argument that a waiting task holds, so that no other of its key is enqueued for it."""

    id = models.BigAutoField(primary_key=True)
    lock = NameField(max_length=KEY_LENGTH, unique=True)  # the unique key and the item
    task = models.ForeignKey(Task, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+")

    objects = QueueManager()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return str(self.lock)
