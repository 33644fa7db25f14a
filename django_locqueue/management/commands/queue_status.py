"""``manage.py queue_status``: how the queues and workers are, for a person, a program, or a probe."""

import json
import os
import sys
import threading
from collections.abc import Sequence
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.core.management.color import no_style
from django.db import Error

from django_locqueue import conf
from django_locqueue.management.queue_command import QueueCommand
from django_locqueue.management.status_text import StatusText, with_time
from django_locqueue.observability.logs import duration, safe
from django_locqueue.observability.snapshot import Snapshot, WorkerState
from django_locqueue.observability.status_json import status_json
from django_locqueue.observability.verdict import (
    Level,
    Limits,
    Verdict,
    facts,
    judge,
    queue_databases,
    snapshots,
    unreadable,
)
from django_locqueue.store import Store

WATCH_SECONDS = 2.0
MAX_AGE_SECONDS = 60.0
CLEAR = "\x1b[H\x1b[2J"  # cursor home, screen empty


class Command(QueueCommand):
    help = (
        "Shows the queues and the workers. With --check it prints one line and exits with 0 (all is well), "
        "1 (warning), 2 (critical) or 3 (unknown)."
    )
    requires_system_checks = ()  # a probe is called often, and is to say what is wrong with the queue

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add = parser.add_argument
        add("--json", action="store_true", help="one object for programs; with --watch one a line")
        add("--watch", nargs="?", type=float, const=WATCH_SECONDS, metavar="S", help="draw anew every S seconds")
        add("--queue", default="", metavar="NAME", help="this queue only")
        add("--check", action="store_true", help="one line, and the exit code says how it is")
        add(
            "--max-wait",
            type=float,
            default=conf.monitoring.MAX_WAIT_SECONDS,
            metavar="S",
            help="a ready task may wait (%(default)g)",
        )
        add(
            "--max-failed",
            type=int,
            default=conf.monitoring.MAX_FAILED,
            metavar="N",
            help="tasks may fail in an hour (%(default)s)",
        )
        add(
            "--min-workers",
            type=int,
            default=conf.monitoring.MIN_WORKERS,
            metavar="N",
            help="that are live (%(default)s)",
        )
        add("--worker", default="", metavar="NAME", help="a liveness probe: is this worker well?")
        add("--max-age", type=float, metavar="S", help=f"of its last sign of life ({MAX_AGE_SECONDS:g})")

    def handle(self, *, backend: str | None, **options: Any) -> None:
        if os.environ.get("NO_COLOR"):
            self.style = no_style()
        super().handle(backend=backend, **options)

    def perform(self, store: Store, **options: Any) -> None:
        self._refuse(options)
        # Without --backend: all that there are.
        self.databases = queue_databases() if self.chosen is None else [store.alias]
        self.limits = Limits(options["max_wait"], options["max_failed"], options["min_workers"])
        try:
            code = self._once(options) if options["watch"] is None else self._watch(options)
        except KeyboardInterrupt:
            code = 0
        if code:
            sys.exit(code)

    def _refuse(self, options: dict[str, Any]) -> None:
        if options["watch"] is not None and not 0 < options["watch"] < threading.TIMEOUT_MAX:
            raise CommandError(f"--watch must be a number of seconds above 0, got {options['watch']:g}.")
        for name in ("max_wait", "max_failed", "min_workers", "max_age"):
            if options[name] is not None and not options[name] >= 0:
                raise CommandError(f"--{name.replace('_', '-')} must be 0 or more, got {options[name]:g}.")
        if options["max_age"] is not None and not options["worker"]:
            raise CommandError("--max-age is of a worker's last sign of life: name it with --worker.")
        if options["watch"] is not None and (options["check"] or options["worker"]):
            raise CommandError("--watch goes on, while --check and --worker end with an exit code: choose one.")
        if options["worker"] and (options["queue"] or options["json"]):
            raise CommandError("--worker prints one line about one worker: leave out --queue and --json.")

    def _watch(self, options: dict[str, Any]) -> int:
        while True:
            if self.stdout.isatty() and not options["json"]:
                self.stdout.write(CLEAR, ending="")
            self._once(options)
            self.stdout.flush()
            threading.Event().wait(options["watch"])

    def _once(self, options: dict[str, Any]) -> int:
        try:
            found = snapshots(fresh=True, databases=self.databases)
        except Error as error:
            verdict = unreadable(error)
            found = []
        else:
            if options["worker"]:
                return self._worker(found, options["worker"], options["max_age"])
            if options["queue"]:
                self._know(found, options["queue"])
            verdict = judge(found, self.limits, options["queue"])
        if options["json"]:
            self.stdout.write(json.dumps(status_json(found, verdict, options["queue"])))
        elif options["check"] or not found:
            self._line(verdict, facts(found))
        else:
            self._draw(found, verdict, options["queue"])
        return verdict.level.code if options["check"] or not found else 0

    def _know(self, found: Sequence[Snapshot], queue: str) -> None:
        known = [each.name for snapshot in found for each in snapshot.queues]
        if queue not in known and not any(snapshot.missing_migrations for snapshot in found):
            close = conf.closest(queue, known)
            hint = f' Did you mean "{safe(close)}"?' if close else ""
            there = ", ".join(map(safe, known)) or "none"
            self.stderr.write(self.style.ERROR(f'Queue "{queue}" does not exist.{hint} Known queues: {there}.'))
            sys.exit(Level.UNKNOWN.code)

    def _draw(self, found: Sequence[Snapshot], verdict: Verdict, queue: str) -> None:
        body = list(StatusText(is_terminal=self.stdout.isatty()).lines(found, queue))
        text = f"{verdict.level.upper()}   {facts(found)}"
        coloured = text.replace(verdict.level.upper(), self._coloured(verdict.level), 1)
        self.stdout.write(with_time(coloured, text, found[0].at, body))
        for problem in verdict.problems:
            self.stdout.write(f"     {problem}")
        for line in body:
            self.stdout.write(line)

    def _coloured(self, level: Level) -> str:
        style = {Level.OK: self.style.SUCCESS, Level.CRITICAL: self.style.ERROR}.get(level, self.style.WARNING)
        return str(style(level.upper()))

    def _line(self, verdict: Verdict, otherwise: str) -> None:
        self.stdout.write(f"{self._coloured(verdict.level)}   {'; '.join(verdict.problems) or otherwise}")

    def _worker(self, found: Sequence[Snapshot], name: str, max_age: float | None) -> int:
        """Say whether a worker lives; of several of that name, the one that was heard last."""
        rows = [each for snapshot in found for each in snapshot.workers if each.name == name]
        row = min(rows, key=lambda each: each.heartbeat_seconds, default=None)
        age = MAX_AGE_SECONDS if max_age is None else max_age
        if any(snapshot.missing_migrations for snapshot in found):
            verdict = judge(found, self.limits)
        elif row is None:
            verdict = Verdict(Level.CRITICAL, [f"No worker {name} runs"])
        elif row.state == WorkerState.LOST or row.heartbeat_seconds > age:
            verdict = Verdict(Level.CRITICAL, [f"Worker {name} was last heard {duration(row.heartbeat_seconds)} ago"])
        else:
            verdict = Verdict(Level.OK, [])
        otherwise = "" if row is None else f"worker {name} is {row.state}, {row.busy} of {row.slots} slots busy"
        self._line(verdict, otherwise)
        return verdict.level.code
