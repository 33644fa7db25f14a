"""What the commands have in common that change tasks: which are meant, whether it is meant, and what came of it."""

import argparse
import re
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from django.core.management.base import CommandError, CommandParser

from django_locqueue.management.queue_command import QueueCommand, person_name
from django_locqueue.management.selecting import add_filter, described, no_match, selection_of
from django_locqueue.models import BulkOperation
from django_locqueue.observability.stats import capped_counts, capped_text, tasks_text
from django_locqueue.policies import legible
from django_locqueue.store import Store
from django_locqueue.store.bulk import BATCH, MOST
from django_locqueue.store.selection import Selection
from django_locqueue.verbs import VERBS, Verb
from django_locqueue.worker.bulk import change_next

NAMED = 10_000  # tasks whose names are counted before it is asked
PAUSE_SECONDS = 1.0  # between two looks at what others do
_RATE = re.compile(r"(\d{1,7})(?:/(min|s))?", re.ASCII)


class ChangeCommand(QueueCommand):
    """``words``: what it does, has done, and why it may not have done it."""

    verb: str
    listing = ""  # where --filter names none
    words: ClassVar[tuple[str, str, str]]

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("ids", nargs="*", type=int, metavar="ID", help="as the log and admin show it")
        add_filter(parser)
        parser.add_argument("--reason", default="", help="why; shown in admin")
        parser.add_argument("--dry-run", action="store_true", help="only say what would be done")
        parser.add_argument("--yes", action="store_true", help="do not ask")
        parser.add_argument(
            "--rate", type=_rate, metavar="N/min", help="with --filter: at most so many, 100/min or 5/s"
        )
        parser.add_argument(
            "--most", type=_most, default=MOST, metavar="N", help="with --filter: change the first N that match"
        )
        parser.add_argument(
            "--background", action="store_true", help="with --filter: let the workers do it, and do not wait"
        )

    def options_of(self, **options: Any) -> dict[str, Any]:
        """Return the options of the verb."""
        return {}

    def perform(self, store: Store, **options: Any) -> None:
        if bool(options["ids"]) == bool(options["filter"]):
            do = self.words[0].lower()
            raise CommandError(f"Say what to {do}: ids, or --filter KEY=VALUE … (one of the two).")
        if options["ids"] and (options["rate"] or options["background"] or options["most"] != MOST):
            raise CommandError("--rate, --most and --background go with --filter.")
        if options["ids"]:
            self._change_these(store, sorted(set(options.pop("ids"))), **options)
        else:
            self._change_all(store, selection_of(store, options["filter"], listing=self.listing), **options)

    # -- some, by their ids

    def _change_these(self, store: Store, ids: list[int], **options: Any) -> None:
        verb, (do, _done, why_not) = VERBS[self.verb], self.words
        batches = [ids[start : start + BATCH] for start in range(0, len(ids), BATCH)]
        paths = {
            pk: path for some in batches for pk, path in store.by_key(some, *verb.states).values_list("pk", "task_path")
        }
        if paths and not self._is_meant(paths.values(), len(paths), "", **options):
            return
        done: list[int] = []
        asked: list[int] = []
        chosen = self.options_of(**options)
        selection = {**({"ids": ids} if len(ids) > 1 else {}), **({"options": chosen} if chosen else {})}
        with store.transaction():  # what is changed is written down, or not changed
            for some in batches if paths else ():
                applied = verb(store, some, by=person_name(), reason=options["reason"], options=chosen)
                done += applied.done
                asked += applied.asked
            left = sorted({*ids} - {*done, *asked})
            if done or asked:
                self.note(
                    store,
                    self.verb,
                    target=str(ids[0]) if len(ids) == 1 else "",
                    selection=selection or None,
                    matched=len(ids),
                    changed=len(done) + len(asked),
                    skipped=len(left),
                    reason=options["reason"],
                )
        self._say_done(done, asked)
        if left:
            raise CommandError(f"Nothing to {do.lower()}: {tasks_named(left)} {why_not}.")

    def _say_done(self, done: list[int], asked: list[int]) -> None:
        if done:
            self.stdout.write(f"{self.words[1]} {tasks_named(done)}.")
        if asked:
            self.stdout.write(f"Asked {tasks_named(asked)} to stop, which {'runs' if len(asked) == 1 else 'run'}.")

    # -- all that match

    def _change_all(self, store: Store, selection: Selection, **options: Any) -> None:
        verb, most = VERBS[self.verb], options["most"]
        now, upper_id = store.now(), store.upper_id()
        asked_for = BulkOperation(
            verb=verb.name,
            selection=selection.as_json(),
            options=_checked(verb, self.options_of(**options)),
            upper_id=upper_id,
            created_at=now,
        )
        rows = store.bulk_tasks(asked_for)
        matched = capped_counts({"found": rows}, MOST)["found"]
        if not matched:
            self.stdout.write(no_match(store, selection))
            return
        if not self._is_meant(
            rows.values_list("task_path", flat=True)[: min(NAMED, most)],
            min(matched, most),
            described(selection),
            **options,
        ):
            return
        if (other := store.unfinished_bulk(verb.name, selection, asked_for.options)) is not None:
            by = f" of {legible.line(other.user_name)}" if other.user_name else ""
            self.stdout.write(f"Bulk operation #{other.pk}{by} does the same already.")
            return
        operation = store.add_bulk(
            verb.name,
            selection,
            by=person_name(),
            reason=options["reason"],
            options=asked_for.options,
            matched=matched,
            most=most,
            rate=options["rate"],
            upper_id=upper_id,
            asked_at=now,
        )
        if options["background"]:
            self.stdout.write(f"The workers do it: bulk operation #{operation.pk}.")
            return
        try:
            self._say_end(self._follow(store, operation))
        except KeyboardInterrupt:
            store.stop_bulk(operation.pk, by=person_name())
            self._say_end(store.bulk_operations.get(pk=operation.pk))

    def _follow(self, store: Store, operation: BulkOperation) -> BulkOperation:
        """Work the operation off, with whatever workers do of it, and say how far it is."""
        while not operation.is_finished:
            mine = store.take_bulk(only=operation.pk)
            while mine is not None and not mine.is_finished:
                mine = change_next(store, mine)
                if mine is not None:
                    self._say_progress(mine)
                    if mine.rate:
                        break
            operation = store.bulk_operations.get(pk=operation.pk)
            if not operation.is_finished:
                rest = (operation.next_at - store.now()).total_seconds()
                threading.Event().wait(min(PAUSE_SECONDS, max(0.0, rest)) if operation.rate else PAUSE_SECONDS)
        return operation

    def _say_progress(self, operation: BulkOperation) -> None:
        if self.stdout.isatty():
            done = operation.changed + operation.skipped
            of = capped_text(operation.matched, operation.most)
            self.stdout.write(f"\r{self.words[1]} {done:,} of {of} ", ending="")
            self.stdout.flush()

    def _say_end(self, operation: BulkOperation) -> None:
        if self.stdout.isatty():
            self.stdout.write("\r\033[K", ending="")
        said = f"{self.words[1]} {tasks_text(operation.changed, MOST)}."
        if operation.skipped:
            said += f" {operation.skipped:,} skipped, which no longer matched or could not be changed."
        self.stdout.write(said)
        if operation.state == BulkOperation.State.STOPPED:
            raise CommandError(f"Stopped by {legible.line(operation.stopped_by) or '?'}. The rest is as it was.")
        if operation.state == BulkOperation.State.FAILED:
            raise CommandError(operation.problem)

    # -- whether it is meant

    def _is_meant(self, paths: Iterable[str], matched: int, which: str, **options: Any) -> bool:
        """Say what will be done and ask; with ``--yes`` say nothing, and nobody is there to be asked: refuse."""
        what = f"{self.words[0]} {tasks_text(matched, MOST)}"
        if options["yes"] and not options["dry_run"]:
            return True
        names = Counter(path.rpartition(".")[2] for path in paths)
        by_name = ", ".join(f"{legible.line(name)} {count:,}" for name, count in names.most_common(8))
        more = " (of the first 10,000)" if matched > NAMED else ", …" if len(names) > 8 else ""
        self.stdout.write(f"{what}{f' ({legible.line(which)})' if which else ''}: {by_name}{more}")
        if options["dry_run"]:
            self.stdout.write("Nothing was changed: this was a dry run.")
            return False
        if self.is_confirmed(what):
            return True
        self.stdout.write("Nothing was changed.")
        return False


def tasks_named(ids: Sequence[int]) -> str:
    if len(ids) > 20:
        return f"{len(ids):,} tasks"
    return f"task{'' if len(ids) == 1 else 's'} {', '.join(f'#{task_id}' for task_id in ids)}"


def _checked(verb: Verb, options: dict[str, Any]) -> dict[str, Any]:
    try:
        verb.checked(options)
    except ValueError as error:
        raise CommandError(str(error)) from error
    return options


def _most(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= MOST):
        raise argparse.ArgumentTypeError(f"give a number from 1 to {MOST:,}, not {text!r}")
    return int(text)


def _rate(text: str) -> int:
    """Return tasks a minute."""
    match = _RATE.fullmatch(text.strip())
    number = int(match[1]) * (60 if match[2] == "s" else 1) if match else 0
    if not 1 <= number <= 1_000_000:
        raise argparse.ArgumentTypeError(f"give 100/min or 5/s, not {text!r}")
    return number
