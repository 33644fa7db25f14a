"""``python -m tests [--jobs N] [pytest options]``: the suite on every database that is here, and a line for each.

Tests that are given no database run once; all others run on each. With ``--jobs`` several of these runs go on at the
same time, each with a database of its own, and what one says is shown when it has ended.
"""

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

NO_TESTS = 5  # pytest's exit code when it found none


@dataclass(frozen=True)
class Run:
    title: str
    vendor: str
    tests: str = "each_vendor"  # pytest's -m
    skipped: str = ""  # why it is not run


@dataclass(frozen=True)
class End:
    code: int | None  # None: it was not run
    line: str


def runs() -> list[Run]:
    no_server = "" if os.environ.get("TEST_MYSQL_URL") else "set TEST_MYSQL_URL to run it"
    # The longest first, so that --jobs has little to wait for in the end.
    return [
        Run("No database", "sqlite", tests="not each_vendor"),
        Run("PostgreSQL", "postgres"),
        Run("SQLite", "sqlite"),
        Run("MySQL or MariaDB", "mysql", skipped=no_server),
    ]


def play(run: Run, marks: str, options: list[str], *, at_once: bool) -> End:
    """Run pytest and pass its output on: line by line ``at_once``, or all of it in the end."""
    if run.skipped:
        return End(None, f"{run.title:<18} not run: {run.skipped}")
    began = time.monotonic()
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "pytest", "-m", f"({run.tests}) and ({marks})" if marks else run.tests),
            "--color=" + ("yes" if sys.stdout.isatty() else "no"),
            *options,
        ],
        env={**os.environ, "TEST_DATABASE": run.vendor},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    said = [f"=== {run.title}\n"]
    if at_once:
        show(said)
    for line in process.stdout:
        said.append(line)
        if at_once:
            show([line])
    code = process.wait()
    if not at_once:
        show(said)
    last = next((line for line in reversed(said) if line.strip()), "").strip("= \n")
    word = "ok" if code == 0 else "no tests found" if code == NO_TESTS else f"exit {code}"
    return End(code, f"{run.title:<18} {word}: {last} ({time.monotonic() - began:.0f} s in all)")


def show(lines: list[str]) -> None:
    sys.stdout.write("".join(lines))
    sys.stdout.flush()


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests", add_help=False, allow_abbrev=False)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("-m", dest="marks", default="")
    own, options = parser.parse_known_args(arguments)
    with ThreadPoolExecutor(own.jobs) as pool:
        try:
            ends = list(pool.map(lambda run: play(run, own.marks, options, at_once=own.jobs == 1), runs()))
        except KeyboardInterrupt:
            # Each pytest got the Ctrl+C as well, and takes its database down; the rest is not begun.
            pool.shutdown(cancel_futures=True)
            raise
    print("\n" + "\n".join(end.line for end in ends))
    codes = {end.code for end in ends if end.code is not None}
    # With `-k` some of the runs may have nothing to do.
    return NO_TESTS if codes == {NO_TESTS} else max(codes - {NO_TESTS})


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
