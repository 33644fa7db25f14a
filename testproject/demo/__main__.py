"""``python -m testproject.demo [--log FILE] [--serve]``."""

import argparse
import os
import signal
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from rich.console import Console
from rich.text import Text

from testproject.demo import latency, replay, traffic
from testproject.demo.client import Exchange
from testproject.demo.postgres import PostgresServer
from testproject.demo.processes import ROOT, Process, ProcessDied, QueueWorker, WebServer, free_port
from testproject.demo.progress import meter

if TYPE_CHECKING:  # they import models, which need settings, which need the database's address
    from testproject.demo.account import Account, Mark

LOGS = ROOT / ".demo"
LOGIN = ("demo", "demo")
SERVE_PORT = 8000

VISITS = 300
SERVE_VISITS = 60
COMPARISONS = 400


def parse(arguments: list[str]) -> tuple[argparse.Namespace, replay.Log | None]:
    """Return the options, and the log that they name. Ends with exit code 2 if they ask for what cannot be had."""
    parser = argparse.ArgumentParser(
        prog="python -m testproject.demo",
        description="Run the shop, its visitors and a worker on a real database, and report what became of it all.",
    )
    parser.add_argument("--log", type=Path, help="replay this log (Apache's combined format) instead of shop visits")
    parser.add_argument("--serve", action="store_true", help="leave everything up until Ctrl+C")
    parser.add_argument(
        "--visits", type=int, help=f"how many shop visits; 0: none ({VISITS}; with --serve {SERVE_VISITS})"
    )
    parser.add_argument(
        "--compare", type=int, default=COMPARISONS, help="requests with and without the access log (%(default)s each)"
    )
    options = parser.parse_args(arguments)
    log = None
    if options.log:
        if not options.log.is_file():
            parser.error(f"--log: there is no file {options.log}")
        log = replay.read(options.log)
        if not log.visits:
            parser.error(
                f"--log: {options.log} holds no request: {log.bad_lines:,} lines, none in Apache's combined format"
            )
    if options.visits is not None and options.visits < 0:
        parser.error(f"--visits: expected a number from 0, got {options.visits}")
    if options.compare < 2:
        parser.error(f"--compare: two requests are the fewest that can be compared, got {options.compare}")
    return options, log


class Demo:
    """One run. What it starts is on ``stack`` and ended in reverse order: visitors, servers, worker, database."""

    def __init__(self, console: Console, options: argparse.Namespace, log: replay.Log | None, stack: ExitStack) -> None:
        self.console = console
        self.options = options
        self.log = log
        self.stack = stack
        self.processes: list[Process] = []
        self.exchanges: list[Exchange] = []
        self.missing: list[str] = []
        self.orders = traffic.Orders()

    def run(self) -> int:
        log = self.log
        LOGS.mkdir(exist_ok=True)
        self.prepare_database()
        self.start(QueueWorker(LOGS / "worker.log"))
        web = WebServer("The web server", LOGS / "web.log", free_port(SERVE_PORT if self.options.serve else 0))
        self.start(web)
        web.wait_until_ready()
        self.introduce(web)

        from testproject.demo.account import Mark
        from testproject.demo.analytics import print_analytics
        from testproject.demo.report import print_account, print_latency, print_verdict

        mark = Mark.now()
        comparison = None if self.options.serve else self.compare(web)
        if log:
            self.console.print(
                f"{'Log':<10} {len(log.visits):,} requests from {log.addresses:,} addresses, "
                f"{log.bad_lines:,} bad lines",
                highlight=False,
            )
        self.visit(web, log.visits if log else self.shop_visits(), "Requests" if log else "Visits")
        account = self.settle(mark)
        self.console.print()
        if comparison:
            print_latency(self.console, comparison)
        print_account(self.console, account)
        self.missing += account.missing
        print_analytics(self.console, self.missing)
        if self.options.serve:
            self.stay_up(web)
        for process in reversed(self.processes):
            if code := process.stop():
                self.missing.append(f"{process.name} ended with exit code {code}; see {process.log}.")
        print_verdict(self.console, self.missing)
        return 1 if self.missing else 0

    def start(self, process: Process) -> Process:
        self.stack.enter_context(process)
        self.processes.append(process)
        return process

    def check(self) -> None:
        for process in self.processes:
            process.check()

    def prepare_database(self) -> None:
        """Start PostgreSQL unless there is a DATABASE_URL; make tables, products and the demo's login."""
        if not os.environ.get("DATABASE_URL"):
            with self.console.status("Starting PostgreSQL"):
                server = self.stack.enter_context(PostgresServer(log=LOGS / "postgres.log"))
            os.environ["DATABASE_URL"] = server.url
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "testproject.settings")
        # As in production; the visitors' addresses come from the header that a proxy would set.
        os.environ.update(DEBUG="off", TRUSTED_PROXIES="127.0.0.1")

        import django
        from django.core.management import call_command

        django.setup()
        with self.console.status("Making the tables"):
            call_command("migrate", verbosity=0, interactive=False)
            self.make_login()

    def make_login(self) -> None:
        from django.contrib.auth.models import User

        name, password = LOGIN
        if not User.objects.filter(username=name).exists():
            User.objects.create_superuser(name, "demo@example.com", password)

    def introduce(self, web: WebServer) -> None:
        import django
        from django.db import connection

        import django_locqueue

        version = ".".join(map(str, connection.get_database_version()))
        python = ".".join(map(str, sys.version_info[:3]))
        self.console.print(
            f"[bold]django-locqueue {django_locqueue.__version__}[/] · Django {django.__version__} · "
            f"Python {python} · {connection.display_name} {version}",
            highlight=False,
        )
        self.console.print(f"  shop    {web.url}   logs  {LOGS.relative_to(ROOT)}/\n", highlight=False)

    def compare(self, web: WebServer) -> latency.Comparison:
        off = {"ACCESS_LOG": "off"}
        plain = WebServer("The web server without access log", LOGS / "web-plain.log", free_port(), off)
        with plain:
            plain.wait_until_ready()
            self.console.print(
                "Comparing  asks a server with and one without the access log for the same page",
                highlight=False,
            )
            with meter(self.console, "Comparing", latency.WARM_UP + self.options.compare) as progress:
                comparison = latency.compare(plain.port, web.port, self.options.compare, measured=progress.advance)
        self.exchanges += comparison.exchanges
        return comparison

    def shop_visits(self) -> list[traffic.Visit]:
        number = self.options.visits
        if number is None:
            number = SERVE_VISITS if self.options.serve else VISITS
        return traffic.shop_visits(number, LOGIN, self.orders)

    def visit(self, web: WebServer, visits: list[traffic.Visit], title: str) -> None:
        with meter(self.console, title, len(visits)) as progress:
            self.exchanges += traffic.send(visits, web.port, visited=progress.advance, check=self.check)

    def settle(self, mark: "Mark") -> "Account":
        """Wait until every task has ended, and draw up the account."""
        from testproject.demo.account import QUIET_SECONDS, draw_up, wait_until_done

        with meter(self.console, "Tasks", mark.tasks_done()[1]) as progress:
            done = wait_until_done(
                mark, len(self.exchanges), show=progress.show, check=self.check, pause=time.sleep, clock=time.monotonic
            )
        if not done:
            self.missing.append(f"Nothing moved for {QUIET_SECONDS} s, so the wait was given up.")
        return draw_up(mark, self.exchanges, self.orders)

    def stay_up(self, web: WebServer) -> NoReturn:
        name, password = LOGIN
        self.console.print(f" [bold]Shop[/]       {web.url}", highlight=False)
        self.console.print(
            f" [bold]Admin[/]      {web.url}admin/   login: {name}, password: {password}", highlight=False
        )
        self.console.print(" [bold]Stop[/]       Ctrl+C; what it stored is gone then, unless DATABASE_URL was yours")
        while True:
            self.check()
            time.sleep(1)


def main(arguments: list[str]) -> int:
    console = Console(highlighter=None)
    options, log = parse(arguments)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        with ExitStack() as stack:
            try:
                return Demo(console, options, log, stack).run()
            finally:
                # What was started is stopped now; a second Ctrl+C must not leave half of it behind.
                signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt:
        console.print("\nStopped.")
        return 0 if options.serve else 130
    except (ProcessDied, TimeoutError, RuntimeError) as error:
        console.print(Text(str(error), "red"), soft_wrap=True)
        return 1


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
