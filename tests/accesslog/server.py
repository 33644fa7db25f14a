"""A real server of the small site, in processes of its own."""

import http.client
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from signal import SIGTERM, Signals

import pytest

from django_locqueue.models import Task
from tests.processes.process import ROOT, environment

HOST = "127.0.0.1"
MASTER_READY = "the master takes signals"


def needs(*modules: str) -> pytest.MarkDecorator:
    missing = [name for name in modules if find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} is not installed")


def sent() -> int:
    """Return how many hits are in the queue."""
    tasks = Task.objects.filter(task_path__endswith=".record_hits")
    return sum(len(task.args_kwargs["kwargs"]["private_hits"]) for task in tasks)


def gunicorn(*options: str) -> tuple[str, ...]:
    return ("-m", "gunicorn", "tests.accesslog.served:wsgi()", "-b", "{address}", *options)


def uvicorn(*options: str) -> tuple[str, ...]:
    return ("-m", "uvicorn", "tests.accesslog.served:asgi", "--factory", "--host", HOST, "--port", "{port}", *options)


def uwsgi(*options: str) -> tuple[str, ...]:
    run = "import sys, pyuwsgi; pyuwsgi.run(sys.argv[1:])"
    # With die-on-term a worker that has not yet put its last request down ends without Python's exit functions.
    graceful = ("--hook-master-start", "unix_signal:15 gracefully_kill_them_all")
    # Its workers may answer before its master takes signals: one that comes earlier can be lost, and nothing stops.
    ready = ("--hook-master-start", f"print:{MASTER_READY}")  # hooks are run in their order
    fixed = ("--http-socket", "{address}", "--master", *graceful, *ready, "--need-app")
    return ("-c", run, *fixed, "--wsgi", "tests.accesslog.served:wsgi()", *options)


class Server:
    """``arguments`` are those of a Python, with ``{address}`` and ``{port}`` for a free port of this machine."""

    def __init__(self, arguments: Sequence[str], env: Mapping[str, str]) -> None:
        with socket.socket() as free:
            free.bind((HOST, 0))
            self.port: int = free.getsockname()[1]
        self._log = Path(tempfile.mkstemp(prefix="locqueue-server-")[1])
        place = {"address": f"{HOST}:{self.port}", "port": self.port}
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, *(each.format(**place) if "{" in each else each for each in arguments)],
                cwd=ROOT,
                env=environment({"DJANGO_SETTINGS_MODULE": "tests.accesslog.served", **env}),
                stdout=log,
                stderr=log,
            )
        has_master = any(MASTER_READY in each for each in arguments)
        deadline = time.monotonic() + 30
        while True:
            try:
                socket.create_connection((HOST, self.port), 1).close()
                if not has_master or f"\n{MASTER_READY}" in self.output:
                    return
                raise OSError("the master is not ready")
            except OSError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    said = self.output
                    self.end()
                    raise AssertionError(f"the server did not start:\n{said}") from None
                time.sleep(0.05)

    @property
    def output(self) -> str:
        return self._log.read_text(errors="replace")

    def visit(self, times: int) -> None:
        """Make requests one after the other. Raises AssertionError unless all are answered as they should."""
        for number in range(times):
            connection = http.client.HTTPConnection(HOST, self.port, timeout=30)
            connection.request("GET", f"/any/{number}")
            assert connection.getresponse().read() == b"hello"
            connection.close()

    def signal(self, number: Signals) -> None:
        self._process.send_signal(number)

    def stop(self, number: Signals = SIGTERM) -> None:
        """Ask it to stop, and wait until it has. Raises subprocess.TimeoutExpired."""
        self.signal(number)
        self._process.wait(60)

    def end(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._log.unlink(missing_ok=True)
