"""``manage.py queue_prune --dry-run``: what workers do each minute, now: what ended longer ago than it is kept goes."""

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandError, CommandParser

from django_locqueue import compat, conf
from django_locqueue.backend import LocQueueBackend
from django_locqueue.management import table
from django_locqueue.management.queue_command import QueueCommand
from django_locqueue.observability.stats import capped_counts, capped_text, tasks_text
from django_locqueue.store import Store
from django_locqueue.store.recover import BATCH

COUNTED = 100_000
OUTCOMES = {"successful": "succeeded", "failed": "failed", "cancelled": "cancelled"}


class Command(QueueCommand):
    help = 'Deletes tasks that ended longer ago than OPTIONS["RETENTION"] keeps them. Workers do so by themselves.'

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--dry-run", action="store_true", help="only say what would go")
        parser.add_argument("--yes", action="store_true", help="do not ask")

    def perform(self, store: Store, **options: Any) -> None:
        retention = self._retention()
        kept = {state: days for state, days in retention.items() if days is not None}
        counts = capped_counts({state: store.outlived(state, days) for state, days in kept.items()}, COUNTED)
        self._say(retention, counts)
        total = sum(counts.values())
        if options["dry_run"]:
            self.stdout.write("Nothing was deleted: this was a dry run.")
            return
        if total and not options["yes"] and not self.is_confirmed(f"Delete {tasks_text(total, COUNTED)}"):
            self.stdout.write("Nothing was deleted.")
            return
        self._prune(store, kept)

    def _retention(self) -> Mapping[str, float | None]:
        """Return the days of the backend that is meant, as its workers take them."""
        alias = self.chosen or next(iter(conf.our_backends()), compat.DEFAULT_TASK_BACKEND_ALIAS)
        backend = compat.task_backends[alias]
        if not isinstance(backend, LocQueueBackend):
            raise CommandError("No entry of TASKS is a backend of ours.")
        return backend.retention

    def _say(self, retention: Mapping[str, float | None], counts: Mapping[str, int]) -> None:
        rows = [
            (
                OUTCOMES.get(state, state),
                "for ever" if days is None else f"{days:g} day{'' if days == 1 else 's'}",
                capped_text(counts[state], COUNTED) if state in counts else "-",
            )
            for state, days in retention.items()
        ]
        for line in table.lines(("OUTCOME", "KEPT", "TO BE DELETED"), rows, right=("TO BE DELETED",)):
            self.stdout.write(line)

    def _prune(self, store: Store, kept: Mapping[str, float | None]) -> None:
        deleted = dict.fromkeys(kept, 0)
        try:
            for state, days in kept.items():
                while count := store.prune({state: days}):
                    deleted[state] += count
        finally:  # what a Ctrl+C comes between has gone all the same
            total = sum(deleted.values())
            if total:
                self.note(store, "prune", matched=total, changed=total)
        while store.prune_workflows(kept) >= BATCH:
            pass
        workers = store.prune_workers(hours=conf.worker.STOPPED_WORKER_HOURS)
        store.prune_limits()
        outcomes = ", ".join(f"{count:,} {OUTCOMES.get(state, state)}" for state, count in deleted.items() if count)
        text = f"Deleted {total:,} task{'' if total == 1 else 's'}" + (f": {outcomes}." if total else ".")
        if workers:
            text += f" {workers:,} row{'' if workers == 1 else 's'} of stopped workers went too."
        self.stdout.write(text)
