"""What was recorded survives the end of a real server's processes."""

import http.client
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from django_locqueue.models import Task
from tests.processes.process import ROOT, environment

REQUESTS = 10

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True)]

needs_gunicorn = pytest.mark.skipif(find_spec("gunicorn") is None, reason="gunicorn is not installed")
needs_uvicorn = pytest.mark.skipif(find_spec("uvicorn") is None, reason="uvicorn is not installed")


class Server:
    """A server process on a free port of this machine."""

    def __init__(self, module: str, *arguments: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.log = Path(tempfile.mkstemp(prefix="locqueue-server-")[1])
        address = ["-b", f"127.0.0.1:{self.port}"] if module == "gunicorn" else ["--port", str(self.port)]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments, *address],
                cwd=ROOT,
                env=environment({"DJANGO_SETTINGS_MODULE": "tests.accesslog.served"}),
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    self.end()
                    raise AssertionError(f"the server did not start:\n{self.log.read_text()}") from None
                time.sleep(0.05)

    def visit(self) -> None:
        for number in range(REQUESTS):
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
            connection.request("GET", f"/any/{number}")
            assert connection.getresponse().read() == b"hello"
            connection.close()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        self._process.send_signal(number)
        self._process.wait(30)

    def end(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    started: list[Server] = []

    def start(module: str, *arguments: str) -> Server:
        started.append(Server(module, *arguments))
        return started[-1]

    yield start
    for server in started:
        server.end()
        server.log.unlink()


def sent() -> int:
    """Return how many hits are in the queue."""
    return sum(len(task.args_kwargs["args"][0]) for task in Task.objects.filter(task_path__endswith=".record_hits"))


def sent_at_last() -> int:
    deadline = time.monotonic() + 30
    while sent() < REQUESTS and time.monotonic() < deadline:
        time.sleep(0.1)
    return sent()


@needs_gunicorn
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT])
def test_a_stopping_gunicorn_loses_nothing(serve, number):
    server = serve("gunicorn", "tests.accesslog.served:wsgi()", "-w", "2")
    server.visit()
    server.stop(number)
    assert sent() == REQUESTS


@needs_gunicorn
def test_a_preloading_gunicorn_loses_nothing_and_sends_nothing_twice(serve):
    server = serve("gunicorn", "tests.accesslog.served:wsgi()", "--preload", "-w", "2")
    server.visit()
    server.stop()
    assert sent() == REQUESTS


@needs_gunicorn
def test_workers_that_gunicorn_replaces_lose_nothing(serve):
    server = serve("gunicorn", "tests.accesslog.served:wsgi()", "--max-requests", str(REQUESTS // 2))
    server.visit()
    assert sent_at_last() == REQUESTS
    server.stop()


@needs_uvicorn
@pytest.mark.parametrize("workers", [(), ("--workers", "2")], ids=["one process", "two workers"])
def test_a_stopping_uvicorn_loses_nothing(serve, workers):
    server = serve("uvicorn", "tests.accesslog.served:asgi", "--factory", "--host", "127.0.0.1", *workers)
    server.visit()
    server.stop()
    assert sent() == REQUESTS


def test_a_process_that_never_served_starts_no_thread():
    code = (
        "import django; django.setup()\n"
        "import threading, django_locqueue.accesslog.middleware\n"
        "raise SystemExit(threading.active_count() - 1)"
    )
    environ = environment({"DJANGO_SETTINGS_MODULE": "tests.accesslog.served"})
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environ, check=False).returncode == os.EX_OK
