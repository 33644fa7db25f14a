"""How many lines of a web server's log are imported in a second: into an empty log, again, and only read.

The lines are made: ten a second, from 25,000 addresses for 2,000 paths, of both of which a few are most of the traffic.
"""

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator

from benchmarks.analytics import configure
from benchmarks.product import LOCQUEUE
from benchmarks.run import Reading, Run
from benchmarks.worker import ROOT

AGENT = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{}.0.0.0 Safari/537.36"
LINE = '49.65.{}.{} - - [{:02}/May/2026:{:02}:{:02}:{:02} +0000] "GET /products/{}/ HTTP/1.1" 200 5120 "{}" "{}"\n'
REFERRERS = ("-", "-", "https://www.baidu.com/s", "https://shop.example.com/products/")
DAY = 86_400


def readings(run: Run) -> Iterator[Reading]:
    """In a process with settings of its own, of which the access log is a part."""
    if run.product is not LOCQUEUE:
        return
    command = [sys.executable, "-m", "benchmarks.log_import", str(run.scale.imported_lines)]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    for name, value in json.loads(done.stdout).items():
        yield Reading("import", name, "lines/s", value)


def lines(count: int) -> list[bytes]:
    chance = random.Random(1)
    made = []
    for number in range(count):
        day, second = divmod(number // 10, DAY)
        made.append(
            LINE.format(
                *(int(100 * chance.random() ** 2), int(250 * chance.random() ** 2)),
                *(day % 31 + 1, second // 3600, second // 60 % 60, second % 60),
                *(int(2000 * chance.random() ** 3), chance.choice(REFERRERS), AGENT.format(chance.randrange(100, 150))),
            ).encode()
        )
    return made


def measure(count: int) -> dict[str, float]:
    """Return lines a second by what was done with them."""
    from django_locqueue.accesslog.files.importing import import_lines
    from django_locqueue.accesslog.files.reader import Reader

    made = lines(count)
    told = {}
    for name in ("stored", "stored before"):
        started = time.perf_counter()
        for imported in import_lines(made):
            last = imported
        told[name] = count / (time.perf_counter() - started)
        assert (last.stored or last.known) == count, last  # noqa: S101
    started = time.perf_counter()
    Reader("default").read(enumerate(made, 1))
    told["read, and not stored"] = count / (time.perf_counter() - started)
    return told


if __name__ == "__main__":
    configure()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    sys.stdout.write(json.dumps(measure(int(sys.argv[1]))))
