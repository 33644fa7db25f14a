"""The processes that the demo starts, and ends by their own ids."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path(__file__).resolve().parent.parent.parent
STOP_SECONDS = 40  # the worker lets its running tasks finish

WEB_PROCESSES = 2
WEB_THREADS = 4


class ProcessDied(RuntimeError):
    """A process that should run has ended."""


class Process:
    """A child with its output in a file. Started on entering, ended on leaving."""

    def __init__(self, name: str, command: Sequence[str], log: Path, env: Mapping[str, str] | None = None) -> None:
        self.name = name
        self.command = command
        self.log = log
        self.env = {**os.environ, "PYTHONUNBUFFERED": "1", **(env or {})}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        if self._process is None:
            raise RuntimeError(f"{self.name} was not started.")
        return self._process.pid

    def __enter__(self) -> Self:
        with self.log.open("wb") as output:
            self._process = subprocess.Popen(
                self.command,
                cwd=ROOT,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # a Ctrl+C is for the demo, which stops them in their order
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> int | None:
        """Ask it to end, wait, and return its exit code. Safe to call twice."""
        process = self._process
        if process is None:
            return None
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        return process.returncode

    def check(self) -> None:
        """Raise :class:`ProcessDied`, with the end of its log, if it no longer runs."""
        if self._process is not None and (code := self._process.poll()) is not None:
            said = "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])
            raise ProcessDied(f"{self.name} ended with exit code {code}. The end of {self.log}:\n{said}")


class WebServer(Process):
    """The shop under gunicorn, on a free port of the loopback address."""

    def __init__(self, name: str, log: Path, port: int, env: Mapping[str, str] | None = None) -> None:
        self.port = port
        command = [
            *(sys.executable, "-m", "gunicorn", "testproject.wsgi:application"),
            *("--bind", f"127.0.0.1:{port}"),
            *("--workers", str(WEB_PROCESSES), "--worker-class", "gthread", "--threads", str(WEB_THREADS)),
            "--no-control-socket",  # it would be one file in the home folder for both servers
            *("--keep-alive", "30"),  # longer than any pause of ours: no request meets a closing connection
        ]
        super().__init__(name, command, log, env)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def wait_until_ready(self, timeout: float = 60) -> None:
        """Wait until it takes connections. Raises :class:`ProcessDied` or TimeoutError."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            self.check()
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            except OSError:
                time.sleep(0.05)
            else:
                return
        raise TimeoutError(f"{self.name} did not answer on port {self.port} within {timeout:.0f} s; see {self.log}.")


class QueueWorker(Process):
    """``runqueue``, as anyone would start it."""

    def __init__(self, log: Path) -> None:
        super().__init__("The worker", [sys.executable, "testproject/manage.py", "runqueue", "--no-reload"], log)


def free_port(wanted: int = 0) -> int:
    """Return ``wanted`` if nobody listens there, else a free port of the loopback address."""
    for port in (wanted, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise OSError("There is no free port on 127.0.0.1.")
