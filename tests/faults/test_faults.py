"""The short form of ``make faults``: some scenarios, seconds each, in a process and on a database of their own."""

import json
import os
import subprocess
import sys

import pytest
from django.db import connection

from tests.processes.process import ROOT

pytestmark = [pytest.mark.processes, pytest.mark.each_vendor]

SECONDS = "2"
CHOSEN = {
    "postgresql": [
        *("kill-worker", "kill-child", "terminate-sessions", "restart-immediately"),
        *("fail-over", "read-only", "too-many-clients"),
    ],
    "sqlite": ["kill-worker", "locked-for-8-seconds"],
}
DATABASE = {"postgresql": "postgres", "sqlite": "sqlite"}


def verdicts(*names: str) -> dict[str, dict]:
    # Its own settings: nothing of this run's database.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TEST_", "DJANGO_"))}
    command = [sys.executable, "-m", "tests.faults", *names, "--json", "--seconds", SECONDS]
    command += ["--database", DATABASE[connection.vendor]]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=300)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(names), done.stderr
    return {verdict["scenario"]: verdict for verdict in found}


@pytest.fixture(scope="module")
def first_verdicts() -> dict[str, dict]:
    return verdicts(*CHOSEN[connection.vendor])


@pytest.mark.parametrize("name", CHOSEN.get(connection.vendor, []))
def test_the_queue_survives(name: str, first_verdicts: dict[str, dict]):
    verdict = first_verdicts[name]
    if verdict["word"] == "VACUOUS":  # by chance, nobody was hurt
        verdict = verdicts(name)[name]
    assert verdict["word"] == "PASS", json.dumps(verdict, indent=1)
