"""``python -m tests [pytest options]``: the suite on every database that is here, and a line for each."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass

NO_TESTS = 5  # pytest's exit code when it found none


@dataclass(frozen=True)
class Run:
    title: str
    vendor: str
    skipped: str = ""  # why it is not run


def runs() -> list[Run]:
    mysql = Run("MySQL or MariaDB", "mysql", "" if os.environ.get("TEST_MYSQL_URL") else "set TEST_MYSQL_URL to run it")
    return [Run("SQLite", "sqlite"), Run("PostgreSQL", "postgres"), mysql]


def run(vendor: str, options: list[str]) -> tuple[int, str]:
    """Run pytest and pass its output on. Returns its exit code and its last line."""
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "--color=" + ("yes" if sys.stdout.isatty() else "no"), *options],
        env={**os.environ, "TEST_DATABASE": vendor},
        stdout=subprocess.PIPE,
        text=True,
    )
    last = ""
    assert process.stdout is not None
    try:
        for line in process.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            last = line.strip() or last
        return process.wait(), last
    except KeyboardInterrupt:
        # pytest got the Ctrl+C as well: let it take its databases down.
        process.wait()
        raise


def main(options: list[str]) -> int:
    results = []
    worst = 0
    for each in runs():
        if each.skipped:
            results.append(f"{each.title:<18} not run: {each.skipped}")
            continue
        print(f"=== {each.title}", flush=True)
        began = time.monotonic()
        code, last = run(each.vendor, options)
        worst = worst or code
        seconds = f"{time.monotonic() - began:.0f} s"
        word = "ok" if code == 0 else "no tests found" if code == NO_TESTS else f"exit {code}"
        results.append(f"{each.title:<18} {word}: {last.strip('= ')} ({seconds} in all)")
    print("\n" + "\n".join(results))
    return worst


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
