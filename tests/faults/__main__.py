"""``python -m tests.faults [scenario ...] --seconds N --database D``: a verdict for each; 1 if one is no PASS."""

import argparse
import json
import os
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any

from tests.faults.databases import DATABASES, Database


@dataclass(frozen=True)
class Verdict:
    """``broken``: what is wrong, by the name of the invariant. ``seconds``: from the last fault until all was done."""

    scenario: str
    faults: int
    bites: int
    tasks: int
    seconds: float
    broken: dict[str, list[str]]

    @property
    def word(self) -> str:
        return "FAIL" if self.broken else "PASS" if self.bites else "VACUOUS"


def play(scenario: Any, database: Database, seconds: float) -> Verdict:
    from tests.faults.invariants import INVARIANTS
    from tests.faults.stage import Stage

    stage = Stage(database)
    try:
        for options in scenario.workers:
            stage.start_worker(options)
        stage.start_producer()
        assert stage.wait_for(lambda: len({run.pid for run in stage.runs}) > 1, 30), stage.everybody[0].output
        until = time.monotonic() + seconds
        while time.monotonic() < until or not stage.faults:
            scenario.fault(stage)
            stage.faults += 1
            stage.pause(scenario.pause)
        stage.stop_producers()
        began = time.monotonic()
        broken: dict[str, list[str]] = {}
        for invariant in INVARIANTS:
            if wrong := invariant(stage):
                broken[invariant.__name__] = wrong
            if invariant is INVARIANTS[0]:
                took = time.monotonic() - began
        bites = scenario.bites(stage)
        return Verdict(scenario.name, stage.faults, bites, len(stage.committed_ids), round(took, 1), broken)
    finally:
        stage.end()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults")
    parser.add_argument("scenarios", nargs="*", help="names; without one, all that the database can have")
    parser.add_argument("--seconds", type=float, default=30, help="how long each fault is repeated (default 30)")
    parser.add_argument("--database", choices=DATABASES, default="postgres")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each")
    options = parser.parse_args()
    database = DATABASES[options.database]()
    database.prepare()
    try:
        return perform(database, options)
    finally:
        database.close()


def perform(database: Database, options: argparse.Namespace) -> int:
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings_fast"
    import django

    django.setup()
    from django.core.management import call_command

    from tests.faults.scenarios import SCENARIOS

    call_command("migrate", verbosity=0)
    able = [name for name, scenario in SCENARIOS.items() if database.name in scenario.databases]
    chosen = options.scenarios or able
    if unknown := [name for name in chosen if name not in able]:
        sys.exit(f"{', '.join(unknown)}: expected some of {', '.join(able)} on {database.name}.")
    failed = False
    for name in chosen:
        verdict = play(SCENARIOS[name], database, options.seconds)
        failed |= verdict.word != "PASS"
        if options.json:
            print(json.dumps({"word": verdict.word, **asdict(verdict)}), flush=True)
            continue
        print(
            f"{verdict.word:<8} {name:<30} {verdict.faults:>4} faults, {verdict.bites:>5} bites, "
            f"{verdict.tasks:>6} tasks, all done {verdict.seconds:.1f} s after the last",
            flush=True,
        )
        for invariant, wrong in verdict.broken.items():
            print(f"         {invariant}: " + "\n           ".join(wrong), flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
