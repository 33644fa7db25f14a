"""Workers with the shortest lease, and the ledger of what their tasks did."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.processes import Process, wait_until
from tests.tasks import write_ledger

FAST = {"DJANGO_SETTINGS_MODULE": "tests.settings_fast"}


@pytest.fixture
def run_fast_worker(run_worker: Callable[..., Process]) -> Callable[..., Process]:
    """Return a function that starts ``runqueue`` with a lease of one second."""

    def run(*options: str, env: dict[str, str] | None = None, wait: bool = True) -> Process:
        return run_worker(*options, env={**FAST, **(env or {})}, wait=wait and "--drain" not in options)

    return run


class Ledger:
    """What the tasks of all processes wrote, in the order in which they did."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    @property
    def lines(self) -> list[str]:
        path = Path(self.path)
        return path.read_text().splitlines() if path.exists() else []

    def say(self, text: str) -> None:
        """Tell the tasks something, as `go`."""
        write_ledger(self.path, text)

    def wait_for(self, text: str, times: int = 1, timeout: float = 30) -> None:
        wait_until(lambda: self.lines.count(text) >= times, timeout=timeout)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger")
