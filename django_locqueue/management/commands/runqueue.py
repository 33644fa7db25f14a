"""``manage.py runqueue``: run a worker."""

import logging
import sys
import threading
import time
from argparse import ArgumentParser
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError
from django.db import Error, InterfaceError, OperationalError, connections

from django_locqueue import compat, conf
from django_locqueue.backend import LocQueueBackend
from django_locqueue.connections import close_connections
from django_locqueue.management import banner, framework_log
from django_locqueue.models.task import NAME_LENGTH
from django_locqueue.observability.logs import WorkerLog
from django_locqueue.worker import reload, shutdown
from django_locqueue.worker.bell import Bell
from django_locqueue.worker.heartbeat_file import HeartbeatFile
from django_locqueue.worker.quota import Quota, resident_megabytes
from django_locqueue.worker.supervisor import Supervisor, child_commands, inherited_table
from django_locqueue.worker.threads import ThreadRange
from django_locqueue.worker.worker import Worker, WorkerOptions, default_name

EXIT_SECONDS = 5.0  # what Python gets to end, with the threads that tasks have left behind
WAIT_SECONDS = 0.25  # between two looks whether the database is there
UNAVAILABLE = 69  # sysexits.h: a service that is needed cannot be reached
LEVELS = {0: logging.ERROR, 1: logging.INFO, 2: logging.DEBUG, 3: logging.DEBUG}


class Command(BaseCommand):
    help = "Run a worker: claim tasks from the database and run them until it is stopped."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("--queue", "--queues", metavar="a,b", help="serve these queues only")
        add("--exclude-queue", "--exclude-queues", metavar="c", help="serve all but these")
        add("--threads", metavar="N|MIN-MAX", help=f"tasks at once (default {conf.worker.THREADS})")
        add("--processes", type=int, default=1, metavar="N", help="worker processes, each with its threads (default 1)")
        add("--drain", action="store_true", help="leave when nothing is ready and nothing runs")
        add("--max-tasks", type=int, metavar="N", help="leave after N tasks; under --processes another takes its place")
        add("--max-time", type=float, metavar="S", help="leave after S seconds, in the same way")
        add("--max-rss", type=float, metavar="MB", help="leave when the process holds MB of memory, in the same way")
        add("--heartbeat-file", default="", metavar="PATH", help="touch this file with each heartbeat")
        add("--wait-for-db", type=float, default=0, metavar="S", help="wait up to S seconds for the database at start")
        add("--no-scheduler", action="store_true", help="leave it to other workers to enqueue what schedules ask for")
        add("--grace", type=float, metavar="S", help="seconds that running tasks get when the worker is stopped")
        add("--backend", default=compat.DEFAULT_TASK_BACKEND_ALIAS, metavar="ALIAS", help="which entry of TASKS")
        add("--worker-id", metavar="NAME", help="name shown in admin (default host:pid)")
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
        log = WorkerLog()
        with ExitStack() as undo:
            self._set_up_logging(options["verbosity"], undo)
            log.connect()
            undo.callback(log.disconnect)
            if options["processes"] == 1:
                code = self._run(backend, worker_options, options["verbosity"], reloading=reloading)
            else:
                code = self._supervise(backend, worker_options, options)
        if is_main and "runqueue" in sys.argv:
            shutdown.leave_within(EXIT_SECONDS, code)
        if code:
            sys.exit(code)

    def _run(self, backend: LocQueueBackend, options: WorkerOptions, verbosity: int, *, reloading: bool) -> int:
        received: list[int] = []
        bell = Bell()

        def begin() -> Worker:
            worker = Worker(backend, options, received, bell)
            self._introduce(backend, options, verbosity, reloading=reloading)
            return worker

        # Handlers first: who sees our row, or reads "Ready.", may stop us, and gets a proper end.
        with shutdown.stop_signals(received, bell.ring):
            try:
                worker = shutdown.begin(begin, received)
            except Error as error:
                return self._unavailable(backend, error)
            code = reload.run_child(worker) if reloading else worker.run()
        code = shutdown.exit_code(received, code)
        if worker.is_stuck and threading.current_thread() is threading.main_thread():
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
        with shutdown.passed_signals(supervisor.pass_on):
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
        for warning in banner.warnings(store, options, reloads=reloading):
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
        connections[backend.database]  # an alias that is not in DATABASES fails here, with Django's own words
        return backend

    def _worker_options(self, options: dict[str, Any]) -> WorkerOptions:
        try:
            threads = ThreadRange.of(conf.worker.THREADS if options["threads"] is None else options["threads"])
        except ValueError as error:
            raise CommandError(f"--threads {error}") from error
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
            schedules=not options["no_scheduler"],
            quota=_quota(options),
            heartbeat_file=_heartbeat_file(options["heartbeat_file"]),
            table=inherited_table(),
        )
        if problem := banner.problem(made):
            raise CommandError(problem)
        return made

    def _set_up_logging(self, verbosity: int, undo: ExitStack) -> None:
        """Respect the project's LOGGING: add a handler only where nobody would hear us."""
        # A task may close the standard streams. A line that cannot be written must not end the thread that writes it.
        undo.callback(setattr, logging, "raiseExceptions", logging.raiseExceptions)
        logging.raiseExceptions = False
        logger = logging.getLogger("django_locqueue")
        if logger.hasHandlers():
            return
        handler: logging.Handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(_Line("%(asctime)s %(levelname)-5s %(message)s", "%H:%M:%S", verbosity))
        logger.addHandler(handler)
        logger.setLevel(LEVELS[verbosity])
        undo.callback(logger.removeHandler, handler)
        undo.enter_context(framework_log.left_out())


class _Line(logging.Formatter):
    """One line an event; with ``-v 2`` a failure's traceback below it (it is in the database in any case)."""

    def __init__(self, fmt: str, datefmt: str, verbosity: int) -> None:
        super().__init__(fmt, datefmt)
        self.verbosity = verbosity

    def format(self, record: logging.LogRecord) -> str:
        record.levelname = record.levelname.replace("WARNING", "WARN")
        if self.verbosity < 2 and record.name == "django_locqueue.task":
            record.exc_info = record.exc_text = None
        return super().format(record)


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
