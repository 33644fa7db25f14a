"""Processes that a test starts, watches and ends."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from django.db import connection

from tests import databases

ROOT = Path(__file__).resolve().parent.parent.parent


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a child that works on this run's test database."""
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        databases.LIVE_NAME: str(connection.settings_dict["NAME"]),
        "PYTHONUNBUFFERED": "1",
        **(extra or {}),
    }


class Process:
    """A management command (or another module) in a process of its own, whose output is collected while it runs."""

    def __init__(self, *arguments: str, env: Mapping[str, str] | None = None, module: str = "django") -> None:
        self.arguments = arguments
        self.lines: list[str] = []
        self._changed = threading.Condition()
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            cwd=ROOT,
            env=environment(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,  # a Ctrl+C for pytest is not one for the worker
        )
        self._reader = threading.Thread(target=self._read, name="test-process-output", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def children(self) -> list[int]:
        """The pids of its child processes, as Linux knows them."""
        return [int(pid) for pid in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()]

    @property
    def output(self) -> str:
        return "\n".join(self.lines)

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def signal(self, number: int = signal.SIGTERM) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        """End it as the kernel would, with no time to say good-bye, and wait until it is gone."""
        self._process.kill()
        self._process.wait()

    def wait(self, timeout: float = 30) -> int:
        """Return the exit code, after all output was read. Raises AssertionError when it does not end."""
        try:
            code = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(
                f"`{' '.join(self.arguments)}` did not end in {timeout} s. It said:\n{self.output}"
            ) from None
        self._reader.join(5)
        return code

    def wait_for(self, text: str, timeout: float = 30) -> str:
        """Return the first line of output that holds ``text``. Raises AssertionError if none comes."""
        deadline = time.monotonic() + timeout
        seen = 0
        with self._changed:
            while True:
                for line in self.lines[seen:]:
                    if text in line:
                        return line
                seen = len(self.lines)
                left = deadline - time.monotonic()
                ended = not self._reader.is_alive()
                if left <= 0 or ended:
                    why = f"ended with {self._process.wait(5)}" if ended else f"did not say so within {timeout} s"
                    raise AssertionError(
                        f"expected {text!r} from `{' '.join(self.arguments)}`, which {why}. It said:\n{self.output}"
                    )
                self._changed.wait(min(left, 0.5))

    def end(self) -> None:
        """End it whatever it does; for the fixture that started it.

        In order, if it can: what the server still does for one that was killed would meet the next test. A worker
        leaves at the second signal although its tasks go on.
        """
        for seconds in (1, 5):
            if not self.is_running:
                break
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)
        else:
            self._process.kill()
            self._process.wait()
        self._reader.join(5)
        # A child of a killed one may still hold the pipe: to close it under the reader would wait for that child.
        if self._process.stdout is not None and not self._reader.is_alive():
            self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._changed:
                self.lines.append(line.rstrip("\n"))
                self._changed.notify_all()


def wait_until(condition: Callable[[], object], process: Process | None = None, timeout: float = 30) -> None:
    """Wait for something that another process does. Raises AssertionError if ``process`` ends first, or time does."""
    deadline = time.monotonic() + timeout
    while True:
        # Before the condition: what a process does last, as it ends, counts.
        has_ended, is_over = process is not None and not process.is_running, time.monotonic() > deadline
        if condition():
            return
        said = f" It said:\n{process.output}" if process else ""
        assert not has_ended, f"the process ended with {process.wait(5) if process else None}.{said}"
        assert not is_over, f"it did not happen within {timeout} s.{said}"
        time.sleep(0.05)
