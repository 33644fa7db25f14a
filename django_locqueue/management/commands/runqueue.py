"""``manage.py runqueue``: run a worker."""

import gc
import logging
import sys
import threading
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError
from django.db import Error, InterfaceError, OperationalError, connections
from django.utils.connection import ConnectionDoesNotExist

from django_locqueue import compat, conf, registry
from django_locqueue.backend import LocQueueBackend
from django_locqueue.connections import close_connections
from django_locqueue.management import banner, hearing, operator_signals
from django_locqueue.management.drain import DrainProgress
from django_locqueue.models.task import NAME_LENGTH
from django_locqueue.observability.formats import FORMATS
from django_locqueue.observability.logs import WorkerLog
from django_locqueue.worker import reload, shutdown
from django_locqueue.worker.bell import Bell
from django_locqueue.worker.heartbeat_file import HeartbeatFile
from django_locqueue.worker.options import WorkerOptions, default_name
from django_locqueue.worker.quota import Quota, resident_megabytes
from django_locqueue.worker.supervisor import Supervisor, child_commands, inherited_table
from django_locqueue.worker.threads import ThreadRange
from django_locqueue.worker.worker import Worker

EXIT_SECONDS = 5.0  # what Python gets to end, with the threads that tasks have left behind
WAIT_SECONDS = 0.25  # between two looks whether the database is there
UNAVAILABLE = 69  # sysexits.h: a service that is needed cannot be reached
SOMETHING_FAILED = 3  # --drain --fail-on-error
NOT_DRAINED = 4  # --drain --timeout
YOUNGEST_OBJECTS = 10_000  # that are made before the garbage collector looks at them


class Command(BaseCommand):
    help = "Run a worker: claim tasks from the database and run them until it is stopped."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("--queue", "--queues", metavar="a,b", help="serve these queues only")
        add("--exclude-queue", "--exclude-queues", metavar="c", help="serve all but these")
        add("--threads", metavar="N|MIN-MAX", help=f"tasks at once (default {conf.worker.THREADS})")
        add("--processes", type=int, default=1, metavar="N", help="worker processes, each with its threads (default 1)")
        add("--drain", action="store_true", help="leave when nothing is ready and nothing runs")
        add("--until-empty", action="store_true", help="with --drain: wait for what is scheduled too")
        add("--timeout", type=float, metavar="S", help="with --drain: leave after S seconds, with exit code 4")
        add("--fail-on-error", action="store_true", help="with --drain: exit code 3 if a task has failed")
        add("--max-tasks", type=int, metavar="N", help="leave after N tasks; under --processes another takes its place")
        add("--max-time", type=float, metavar="S", help="leave after S seconds, in the same way")
        add("--max-rss", type=float, metavar="MB", help="leave when the process holds MB of memory, in the same way")
        add("--heartbeat-file", default="", metavar="PATH", help="touch this file with each heartbeat")
        add("--wait-for-db", type=float, default=0, metavar="S", help="wait up to S seconds for the database at start")
        add("--no-scheduler", action="store_true", help="leave it to other workers to enqueue what schedules ask for")
        add("--grace", type=float, metavar="S", help="seconds that running tasks get when the worker is stopped")
        add("--backend", default=compat.DEFAULT_TASK_BACKEND_ALIAS, metavar="ALIAS", help="which entry of TASKS")
        add("--worker-id", metavar="NAME", help="name shown in admin (default host:pid)")
        add("--log-format", choices=FORMATS, default="text", help="how lines look where LOGGING does not say (text)")
        add("--reload", action="store_true", default=None, help="restart when code changes (default with DEBUG)")
        add("--no-reload", action="store_false", dest="reload")

    def execute(self, *args: Any, **options: Any) -> str | None:
        self._wait_for_database(options)
        try:
            return super().execute(*args, **options)
        except (InterfaceError, OperationalError) as error:
            # Before handle() begins: Django's own system checks ask a MySQL server what it is.
            sys.exit(self._unavailable(self._backend(options["backend"]), error))

    def _wait_for_database(self, options: dict[str, Any]) -> None:
        """Wait for a database that starts up beside us, and for all of its tables, which ``migrate`` makes bit by bit.

        One that stays away is told as ever.
        """
        seconds = options["wait_for_db"]
        if not 0 <= seconds < threading.TIMEOUT_MAX:
            raise CommandError(f"--wait-for-db must be 0 or more seconds, got {seconds}.")
        backend, end, told = self._backend(options["backend"]), time.monotonic() + seconds, False
        while seconds:
            why = "not all migrations of the queue are applied"
            try:
                if banner.is_migrated(connections[backend.database]):
                    return
            except Error as error:
                why = str(error)
            close_connections()
            if time.monotonic() >= end:
                return
            if not told:
                self.stderr.write(f"Waiting up to {seconds:g} s for the database “{backend.database}”: {why}")
            told = True
            threading.Event().wait(WAIT_SECONDS)

    def handle(self, *args: Any, **options: Any) -> None:
        backend = self._backend(options["backend"])
        worker_options = self._worker_options(options)
        if connections[backend.database].in_atomic_block:
            raise CommandError(
                "runqueue cannot run inside a transaction: its threads have connections of their own, which see "
                "nothing of it. In tests use TransactionTestCase, or Django's ImmediateBackend."
            )
        is_main = threading.current_thread() is threading.main_thread()
        reloading = settings.DEBUG if options["reload"] is None else options["reload"]
        reloading = reloading and not options["drain"] and options["processes"] == 1 and is_main
        if reloading and not reload.is_child():
            sys.exit(reload.run_parent(lambda text: self.stderr.write(self.style.WARNING(text))))
        verbosity = options["verbosity"]
        log = WorkerLog(worker_options.name, starts=verbosity >= 2, arguments=verbosity >= 3)
        with ExitStack() as undo:
            progress = self._hear(worker_options, backend, log, options, undo)
            log.connect()
            undo.callback(log.disconnect)
            if options["processes"] == 1:
                code = self._run(backend, worker_options, options, reloading=reloading)
            else:
                code = self._supervise(backend, worker_options, options)
        if progress is not None:
            progress.stop()
            progress.clear()
            if worker_options.table is None and verbosity:
                self.stdout.write(progress.conclusion())
            if not code and options["fail_on_error"] and log.counts["failed"]:
                code = SOMETHING_FAILED
        if is_main and "runqueue" in sys.argv:
            shutdown.leave_within(EXIT_SECONDS, code)
        if code:
            sys.exit(code)

    def _hear(
        self,
        worker: WorkerOptions,
        backend: LocQueueBackend,
        log: WorkerLog,
        options: dict[str, Any],
        undo: ExitStack,
    ) -> DrainProgress | None:
        """Set up who hears the worker; return what shows how far a drain is, if this process drains."""
        verbosity, progress = options["verbosity"], None
        if worker.drain and options["processes"] == 1:
            progress = DrainProgress(backend.store, worker, log.counts, self.stdout)
        bar = progress is not None and progress.is_terminal and verbosity == 1
        handler = hearing.set_up(
            undo,
            verbosity,
            options["log_format"],
            process=worker.name if worker.table is not None else "",
            level=logging.WARNING if bar else None,  # the bar counts what is done; a failure is still a line
        )
        if handler is None and options["log_format"] != "text":
            self.stderr.write(
                self.style.WARNING("--log-format does nothing here: LOGGING in the settings says how lines look.")
            )
        if progress is not None and (bar or (verbosity and not progress.is_terminal)):
            if handler is not None:
                handler.clear = progress.clear
            progress.start()
        return progress

    def _run(self, backend: LocQueueBackend, worker: WorkerOptions, options: dict[str, Any], *, reloading: bool) -> int:
        received: list[int] = []
        asked: list[int] = []
        bell = Bell()

        def begin() -> Worker:
            made = Worker(backend, worker, received, bell)
            self._introduce(backend, worker, options["verbosity"], reloading=reloading)
            return made

        def ask(number: int) -> None:
            asked.append(number)
            bell.ring()

        # Handlers first: who sees our row, or reads "Ready.", may stop us, and gets a proper end.
        with shutdown.stop_signals(received, bell.ring), operator_signals.heard(ask):
            try:
                begun = shutdown.begin(begin, received)
            except Error as error:
                return self._unavailable(backend, error)
            begun.each_look = lambda: operator_signals.attend(begun, asked)
            if self._called_from_command_line:  # type: ignore[attr-defined]  # the process is ours
                _spare_the_garbage_collector()
            with _ended_after(options["timeout"], begun) as is_late:
                code = reload.run_child(begun) if reloading else begun.run()
        code = shutdown.exit_code(received, code)
        if is_late.is_set() and not code:
            self.stderr.write(self.style.WARNING(f"Not drained after {options['timeout']:g} s: tasks are left."))
            code = NOT_DRAINED
        if begun.is_stuck and threading.current_thread() is threading.main_thread():
            shutdown.leave(code)
        return code

    def _supervise(self, backend: LocQueueBackend, worker: WorkerOptions, options: dict[str, Any]) -> int:
        processes = options["processes"]
        if processes < 1:
            raise CommandError(f"--processes must be a whole number of at least 1, got {processes}.")
        if "runqueue" not in sys.argv:
            raise CommandError("--processes starts this command line again; call_command has none. Leave it out.")
        commands = child_commands(processes, worker.name)
        supervisor = Supervisor(
            backend.store,
            commands,
            max_crashes=backend.max_crashes,
            drain=worker.drain,
            heartbeat_file=worker.heartbeat_file,
        )
        with shutdown.passed_signals(supervisor.pass_on), operator_signals.heard(supervisor.tell):
            try:
                shutdown.begin(
                    lambda: self._introduce(backend, worker, options["verbosity"], processes=processes),
                    supervisor.received,
                )
            except Error as error:
                return self._unavailable(backend, error)
            return supervisor.run()

    def _unavailable(self, backend: LocQueueBackend, error: Error) -> int:
        what, cure = banner.unavailable(backend.database, error)
        self.stderr.write(self.style.ERROR(what))
        self.stderr.write(cure)
        return UNAVAILABLE

    def _introduce(
        self,
        backend: LocQueueBackend,
        options: WorkerOptions,
        verbosity: int,
        *,
        processes: int = 1,
        reloading: bool = False,
    ) -> None:
        if verbosity < 1 or options.table is not None:  # a child's supervisor has said it
            return
        store = backend.store
        if self.stdout.isatty():
            first, *rest = banner.lines(store, options, processes)
            self.stdout.write(self.style.MIGRATE_HEADING(first))
            for line in rest:
                self.stdout.write(line)
        else:
            self.stdout.write(banner.start_line(store, options, processes))
        if verbosity >= 2:
            registry.autodiscover()
            for line in banner.tasks():
                self.stdout.write(line)
        for warning in banner.warnings(store, options, processes=processes, reloads=reloading):
            self.stderr.write(self.style.WARNING(warning))
        if self.stdout.isatty():
            self.stdout.write(self.style.SUCCESS("Ready.\n"))
        self.stdout.flush()

    def _backend(self, alias: str) -> LocQueueBackend:
        try:
            backend = compat.task_backends[alias]
        except ImproperlyConfigured as error:
            raise CommandError(f"--backend {alias}: {error}") from error
        if not isinstance(backend, LocQueueBackend):
            raise CommandError(
                f"TASKS[{alias!r}] is {type(backend).__module__}.{type(backend).__qualname__}, which needs no worker. "
                'Set "BACKEND": "django_locqueue.backend.LocQueueBackend".'
            )
        try:
            connections[backend.database]
        except ConnectionDoesNotExist as error:
            raise CommandError(
                f'TASKS[{alias!r}]["OPTIONS"]["DATABASE"] is {backend.database!r}, which is not in DATABASES; '
                f"it has {', '.join(sorted(connections.databases))}."
            ) from error
        return backend

    def _worker_options(self, options: dict[str, Any]) -> WorkerOptions:
        try:
            threads = ThreadRange.of(conf.worker.THREADS if options["threads"] is None else options["threads"])
        except ValueError as error:
            raise CommandError(f"--threads {error}") from error
        if not options["drain"]:
            for name in ("until_empty", "timeout", "fail_on_error"):
                if options[name]:
                    raise CommandError(f"--{name.replace('_', '-')} is a part of --drain. Give both.")
        if options["timeout"] is not None and not 0 < options["timeout"] < threading.TIMEOUT_MAX:
            raise CommandError(f"--timeout must be more than 0 seconds, got {options['timeout']:g}.")
        grace = conf.worker.GRACE_SECONDS if options["grace"] is None else options["grace"]
        name = options["worker_id"] or default_name()
        if not grace >= 0:
            raise CommandError(f"--grace must be 0 or more seconds, got {grace}.")
        if not name.isprintable() or len(name) > NAME_LENGTH:
            raise CommandError(f"--worker-id must be at most {NAME_LENGTH} printable characters, got {name!r}.")
        made = WorkerOptions(
            name=name,
            threads=threads,
            grace_seconds=grace,
            queues=_names("--queue", options["queue"]),
            exclude_queues=_names("--exclude-queue", options["exclude_queue"]),
            drain=options["drain"],
            until_empty=options["until_empty"],
            schedules=not options["no_scheduler"],
            quota=_quota(options),
            heartbeat_file=_heartbeat_file(options["heartbeat_file"]),
            table=inherited_table(),
        )
        if problem := banner.problem(made):
            raise CommandError(problem)
        return made


def _spare_the_garbage_collector() -> None:
    """Let it look neither at what the start has imported, which stays, nor as often as a program of its own needs.

    A queue's tasks come and go, and most of what they make is gone by its count of references: a twentieth of a tiny
    task's time were passes that found nothing. A threshold that somebody has set as high, or to 0, stays.
    """
    gc.collect()
    gc.freeze()
    youngest, *older = gc.get_threshold()
    if 0 < youngest < YOUNGEST_OBJECTS:
        gc.set_threshold(YOUNGEST_OBJECTS, *older)


@contextmanager
def _ended_after(seconds: float | None, worker: Worker) -> Iterator[threading.Event]:
    """Stop the worker when the time is over; what is returned is set then."""
    is_late = threading.Event()

    def stop() -> None:
        is_late.set()
        worker.request_stop()

    timer = threading.Timer(threading.TIMEOUT_MAX if seconds is None else seconds, stop)
    timer.daemon = True
    if seconds is not None:
        timer.start()
    try:
        yield is_late
    finally:
        timer.cancel()


def _quota(options: dict[str, Any]) -> Quota:
    tasks, seconds, rss = options["max_tasks"], options["max_time"], options["max_rss"]
    if tasks is not None and tasks < 1:
        raise CommandError(f"--max-tasks must be a whole number of at least 1, got {tasks}.")
    if seconds is not None and not seconds > 0:
        raise CommandError(f"--max-time must be more than 0 seconds, got {seconds:g}.")
    if rss is not None and not rss > (used := resident_megabytes()):
        raise CommandError(f"--max-rss must be more than the {used:.0f} MB that an idle worker holds, got {rss:g}.")
    return Quota(tasks, seconds, rss)


def _heartbeat_file(name: str) -> HeartbeatFile | None:
    if not name:
        return None
    path = Path(name)
    try:
        path.touch()
    except OSError as error:
        raise CommandError(f"--heartbeat-file must name a file that can be written: {error}") from error
    return HeartbeatFile(path)


def _names(option: str, text: str | None) -> tuple[str, ...]:
    names = tuple(name for part in (text or "").split(",") if (name := part.strip()))
    if text is not None and not names:
        raise CommandError(f"{option} must name at least one queue, got {text!r}. Leave it out to serve all.")
    return names
