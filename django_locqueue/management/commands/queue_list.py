"""``manage.py queue_list --state failed --error ConnectionError``: the tasks that a page would list."""

import json
from datetime import datetime
from typing import Any

from django.core.management.base import CommandError, CommandParser

from django_locqueue.management import table
from django_locqueue.management.queue_command import QueueCommand
from django_locqueue.management.selecting import add_filter, no_match, selection_of
from django_locqueue.management.times import shown
from django_locqueue.models import State, Task
from django_locqueue.models.listing import LISTINGS
from django_locqueue.models.task import PAYLOAD_COLUMNS
from django_locqueue.observability.task_json import state_name, task_json
from django_locqueue.policies import masking
from django_locqueue.store import Store

MOST = 10_000
LISTED = {"successful": "all", "cancelled": "all"}  # the states that have no listing of their own


class Command(QueueCommand):
    help = "Lists tasks: without options those of the last 24 hours, the newest first."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        states = [*State.values, "retrying"]
        parser.add_argument("--state", choices=states, metavar="STATE", help=f"one of {', '.join(states)}")
        for name, what in (
            ("queue", "of this queue"),
            ("task", "of this path: shop.tasks.send"),
            ("worker", "that this worker ran"),
            ("error", "that this exception ended: ConnectionError"),
            ("last", "of the last 1h, 24h or 7d; all: of all time"),
        ):
            parser.add_argument(f"--{name}", default="", help=what)
        add_filter(parser)
        parser.add_argument("--limit", type=int, default=50, metavar="N", help="at most so many (default 50)")
        parser.add_argument("--json", action="store_true", help="one object, for programs")

    def perform(self, store: Store, **options: Any) -> None:
        if not 1 <= options["limit"] <= MOST:
            raise CommandError(f"--limit must be from 1 to {MOST:,}.")
        terms = [f"{name}={options[name]}" for name in ("queue", "task", "worker", "error", "last") if options[name]]
        state = options["state"] or ""
        listing = LISTED.get(state, state) or "all"
        if listing == "all" and state:
            terms.append(f"state={state}")
        selection = selection_of(store, [*terms, *options["filter"]], listing=listing)
        rows = selection.rows(store.tasks).defer(*PAYLOAD_COLUMNS)
        found = list(rows[: options["limit"] + 1])
        has_more = len(found) > options["limit"]
        found = found[: options["limit"]]
        if options["json"]:
            self.stdout.write(
                json.dumps({"tasks": [task_json(task, task.worker_names) for task in found], "more": has_more})
            )
            return
        if not found:
            self.stdout.write(no_match(store, selection))
            return
        cells = [
            (
                str(task.pk),
                task.name,
                state_name(task),
                task.queue_name,
                shown(_moment(task)),
                f"{task.attempt}/{task.max_attempts}",
                _error(task),
            )
            for task in found
        ]
        headings = ("ID", "TASK", "STATE", "QUEUE", "TIME", "ATTEMPT", "ERROR")
        for line in table.lines(headings, cells, right=("ID", "ATTEMPT")):
            self.stdout.write(line)
        if has_more:
            kind = LISTINGS[selection.listing].name
            self.stdout.write(f"More than {options['limit']} match ({kind}). Narrow it, or use --limit.")


def _moment(task: Task) -> datetime | None:
    """Return the time that matters in the task's state: when it ended, began, or may begin."""
    waiting: datetime | None = task.last_attempted_at if task.state == State.RUNNING else task.run_after
    ended: datetime | None = task.finished_at
    return ended if task.is_finished else waiting


def _error(task: Task) -> str:
    parts = (task.error_class.rpartition(".")[2], masking.mask_text(task.error_message))
    return ": ".join(filter(None, parts))[:80]
