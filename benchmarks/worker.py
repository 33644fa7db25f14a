"""Workers as a site starts them: management commands in processes of their own."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from benchmarks.product import Configuration, Product

ROOT = Path(__file__).resolve().parent.parent
PATIENCE_SECONDS = 600


class Workers:
    """The processes of one configuration, ended on leaving."""

    def __init__(
        self,
        product: Product,
        configuration: Configuration,
        *,
        leave_when_empty: bool = False,
        listen: bool = True,
        under: Sequence[str] = (),  # a program that starts the command and looks at it
    ) -> None:
        options = [*configuration.options, *([product.leave_when_empty] if leave_when_empty else [])]
        self._command = [*under, sys.executable, "-m", "django", *product.worker, *options]
        self._count = configuration.commands
        self._env = {
            **os.environ,
            "BENCHMARK_CONN_MAX_AGE": str(configuration.conn_max_age),
            "BENCHMARK_LISTEN": "on" if listen else "off",
        }
        self._output = tempfile.TemporaryFile()  # noqa: SIM115
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def pid(self) -> int:
        return self._processes[0].pid

    def __enter__(self) -> Self:
        for _ in range(self._count):
            self._processes.append(
                subprocess.Popen(self._command, cwd=ROOT, env=self._env, stdout=self._output, stderr=self._output)
            )
        return self

    def wait(self, seconds: float = PATIENCE_SECONDS) -> bool:
        """Wait until all have left by themselves, or for that long. Raises RuntimeError if one failed."""
        deadline = time.monotonic() + seconds
        for process in self._processes:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                return False
        self.check()
        return True

    def wait_for(self, is_so: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> None:
        """Ask until it is so. Raises RuntimeError if a worker fails meanwhile or time is up."""
        deadline = time.monotonic() + seconds
        while not is_so():
            self.check()
            if time.monotonic() > deadline:
                raise RuntimeError(f"The workers did not get there within {seconds} s: {' '.join(self._command)}")
            time.sleep(0.05)

    def check(self) -> None:
        """Raise RuntimeError with what they said if one has ended with an error."""
        if any(process.poll() for process in self._processes):
            self._output.seek(0)
            raise RuntimeError(f"A worker failed: {self._output.read()[-2000:].decode(errors='replace')}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.wait()
        self._output.close()
