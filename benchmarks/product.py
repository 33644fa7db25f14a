"""What is measured: this queue, and peers that implement the same framework and are installed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec


@dataclass(frozen=True)
class Configuration:
    """How workers are started: the command's options, how many of them, and Django's CONN_MAX_AGE."""

    options: Sequence[str] = ()
    commands: int = 1
    conn_max_age: int | None = 0


@dataclass(frozen=True)
class Product:
    name: str
    app: str
    backend: str
    model: str  # of the rows with finished_at
    succeeded: Mapping[str, str]  # a filter of these rows, so that their index serves it
    worker: Sequence[str]
    leave_when_empty: str  # the worker's option
    defaults: Configuration
    best: Configuration
    waiting: Configuration  # the best for tasks that wait, as for a commit
    has_bulk: bool
    drain_tasks: int  # so that a drain takes some seconds
    new_key: Mapping[str, str]  # by vendor: SQL for the primary key of a copied row; none: the database counts


LOCQUEUE = Product(
    name="django-locqueue",
    app="django_locqueue",
    backend="django_locqueue.backend.LocQueueBackend",
    model="locqueue.Task",
    succeeded={"state": "successful"},
    worker=("runqueue", "-v", "0"),
    leave_when_empty="--drain",
    defaults=Configuration(),
    best=Configuration(("--processes", "2", "--threads", "2"), conn_max_age=None),
    waiting=Configuration(("--threads", "24"), conn_max_age=None),
    has_bulk=True,
    drain_tasks=100_000,
    new_key={},
)

DJANGO_TASKS_DB = Product(
    name="django-tasks-db",
    app="django_tasks_db",
    backend="django_tasks_db.DatabaseBackend",
    model="django_tasks_database.DBTaskResult",
    succeeded={"status": "SUCCESSFUL"},
    worker=("db_worker", "-v", "0", "--no-startup-delay"),
    leave_when_empty="--batch",
    defaults=Configuration(),
    # It runs one task at a time; four processes served most on two cores.
    best=Configuration(("--interval", "0.1"), commands=4, conn_max_age=None),
    waiting=Configuration(("--interval", "0.1"), commands=8, conn_max_age=None),
    has_bulk=False,
    drain_tasks=2_000,
    new_key={"postgresql": "gen_random_uuid()", "sqlite": "lower(hex(randomblob(16)))"},
)

KNOWN = {product.name: product for product in (LOCQUEUE, DJANGO_TASKS_DB)}


def installed() -> list[Product]:
    return [product for product in KNOWN.values() if find_spec(product.app) is not None]
