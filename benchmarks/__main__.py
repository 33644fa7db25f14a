"""Measure the queue, and peers that are installed, and print a table."""

import argparse
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks import database, machine, page, plot
from benchmarks.product import KNOWN, Product, installed
from benchmarks.report import Report
from benchmarks.run import MEASURES, QUICK, Scale
from benchmarks.worker import ROOT

DOCS = ROOT / "docs"


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    add = parser.add_argument
    add("--only", type=measures, default=MEASURES, metavar="a,b", help=f"of {', '.join(MEASURES)}")
    add("--product", choices=KNOWN, help="measure this one only (default: all that are installed)")
    add("--postgres", metavar="URL", help="a server on which databases may be made (default: one for this run)")
    add("--no-postgres", action="store_true", help="SQLite only")
    add("--no-sqlite", action="store_true", help="PostgreSQL only")
    add("--repeat", type=int, default=1, metavar="N", help="rounds; each measures everything once")
    add("--quick", action="store_true", help="little of everything: to see that it works")
    add("--snapshot-seconds", type=float, metavar="S", help="with and without an old snapshot, each (default 60)")
    add("--json", type=Path, metavar="FILE", help="write every value to it")
    add("--write-docs", action="store_true", help="fill docs/benchmarks.md and draw its plots")
    add("--from-json", type=Path, metavar="FILE", help="measure nothing: show what an earlier run wrote")
    return parser.parse_args(arguments)


def measures(text: str) -> tuple[str, ...]:
    chosen = tuple(text.split(","))
    if unknown := set(chosen) - set(MEASURES):
        raise argparse.ArgumentTypeError(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(MEASURES)}")
    return chosen


def scale(options: argparse.Namespace) -> Scale:
    chosen = QUICK if options.quick else Scale()
    seconds = options.snapshot_seconds
    return replace(chosen, snapshot_seconds=seconds) if seconds else chosen


def measure(options: argparse.Namespace, command: str) -> Report:
    with ExitStack() as stack:
        server = None if options.no_postgres else stack.enter_context(database.postgres_server(options.postgres))
        report = Report(list(machine.description(server)), command)
        for number in range(options.repeat):
            # All once, and then all again: what the machine has besides to do meets them alike.
            for column, product, made in sides(options, server):
                say(f"round {number + 1}: {column}")
                try:
                    with made as url:
                        for reading in readings(product, url, options):
                            report.add(column, reading)
                            say(f"  {reading['measure']}: {reading['name']}  {reading['value']:,.2f} {reading['unit']}")
                except subprocess.CalledProcessError as error:  # it has said why
                    report.failed.append(column)
                    say(f"  measured no further, since it ended with {error.returncode}")
    return report


def sides(
    options: argparse.Namespace, server: str | None
) -> Iterator[tuple[str, Product, AbstractContextManager[str]]]:
    """Yield each product on each database: the column's head, the product, and the database that is yet to be made."""
    for product in installed():
        if options.product in (None, product.name):
            if server:
                yield f"{product.name}, PostgreSQL", product, database.postgres_database(server)
            if not options.no_sqlite:
                yield f"{product.name}, SQLite", product, database.sqlite_database()


def readings(product: Product, url: str, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield what the measures find. Raises CalledProcessError if one fails, after all that came before."""
    command = [sys.executable, "-m", "benchmarks.run", "--only", ",".join(options.only)]
    command += ["--scale", json.dumps(asdict(scale(options)))]
    env = {**os.environ, "BENCHMARK_PRODUCT": product.name, "BENCHMARK_DATABASE_URL": url}
    with subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True) as process:
        yield from map(json.loads, process.stdout or ())
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)


def say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    if options.from_json:
        report = Report.read_json(options.from_json)
    else:
        report = measure(options, f"python -m benchmarks {shlex.join(arguments)}".strip())
    sys.stdout.write("\n".join([*report.machine, "", report.table(), ""]))
    if options.json:
        report.write_json(options.json)
    if options.write_docs:
        page.fill(DOCS / "benchmarks.md", report)
        for path in plot.write(report, DOCS / "benchmarks"):
            say(f"drawn: {path.relative_to(ROOT)}")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
