"""What was recorded survives the end of a real server's processes."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import pytest
from django.db import connection

from django_locqueue.models import Task
from tests.accesslog.server import Server, gunicorn, uvicorn, uwsgi
from tests.faults.proxy import Proxy
from tests.processes import wait_until
from tests.processes.process import ROOT, environment

REQUESTS = 10

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True)]


def needs(*modules: str) -> pytest.MarkDecorator:
    missing = [name for name in modules if find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} is not installed")


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Return a function that starts a server: its arguments, the environment, and keys of ``ACCESS_LOG``."""
    started: list[Server] = []

    def start(arguments: tuple[str, ...], env: dict[str, str] | None = None, **keys: Any) -> Server:
        started.append(Server(arguments, {"TEST_ACCESS_LOG_KEYS": json.dumps(keys), **(env or {})}))
        return started[-1]

    yield start
    for server in started:
        server.end()


def sent() -> int:
    """Return how many hits are in the queue."""
    return sum(len(task.args_kwargs["args"][0]) for task in Task.objects.filter(task_path__endswith=".record_hits"))


@needs("gunicorn")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT])
def test_a_stopping_gunicorn_loses_nothing(serve, number):
    server = serve(gunicorn("-w", "2"))
    server.visit(REQUESTS)
    server.stop(number)
    assert sent() == REQUESTS


@needs("gunicorn")
def test_a_stopping_gunicorn_with_threads_loses_nothing(serve):
    server = serve(gunicorn("--threads", "3", "-w", "2"))
    server.visit(REQUESTS)
    server.stop()
    assert sent() == REQUESTS


@needs("gunicorn")
def test_a_preloading_gunicorn_loses_nothing_and_sends_nothing_twice(serve):
    server = serve(gunicorn("--preload", "-w", "2"))
    server.visit(REQUESTS)
    server.stop()
    assert sent() == REQUESTS


@needs("gunicorn")
def test_the_workers_of_a_preloading_gunicorn_send_by_time(serve):
    """A thread that had been started before the fork would be in none of them."""
    server = serve(gunicorn("--preload", "-w", "2"), INTERVAL=0.05)
    server.visit(REQUESTS)
    wait_until(lambda: sent() == REQUESTS)
    server.stop()


@needs("gunicorn")
def test_workers_that_gunicorn_replaces_lose_nothing(serve):
    server = serve(gunicorn("--max-requests", str(REQUESTS // 2)))
    server.visit(REQUESTS)
    wait_until(lambda: sent() == REQUESTS)
    server.stop()


@needs("gunicorn")
def test_workers_that_end_with_a_reload_lose_nothing(serve):
    server = serve(gunicorn("-w", "2"))
    server.visit(REQUESTS)
    server.signal(signal.SIGHUP)
    wait_until(lambda: sent() == REQUESTS)
    server.visit(1)
    server.stop()
    assert sent() == REQUESTS + 1


@needs("uvicorn")
@pytest.mark.parametrize("workers", [(), ("--workers", "2")], ids=["one process", "two workers"])
def test_a_stopping_uvicorn_loses_nothing(serve, workers):
    server = serve(uvicorn(*workers))
    server.visit(REQUESTS)
    server.stop()
    assert sent() == REQUESTS


@needs("pyuwsgi")
def test_a_stopping_uwsgi_loses_nothing(serve):
    server = serve(uwsgi("--processes", "2"))
    server.visit(REQUESTS)
    server.stop()
    assert sent() == REQUESTS


@needs("pyuwsgi")
def test_workers_that_uwsgi_replaces_lose_nothing(serve):
    server = serve(uwsgi("--max-requests", str(REQUESTS // 2), "--min-worker-lifetime", "0"))
    server.visit(REQUESTS)
    wait_until(lambda: sent() == REQUESTS)
    server.stop()


@needs("gunicorn")
@pytest.mark.skipif(connection.vendor != "postgresql", reason="the way to it is PostgreSQL's")
def test_i9_a_database_that_says_nothing_holds_up_no_visitor_and_no_end_and_nothing_is_lost(serve, tmp_path):
    connection.ensure_connection()
    info = connection.connection.info
    proxy = Proxy(f"{info.host}/.s.PGSQL.{info.port}" if info.host.startswith("/") else (info.host, info.port))
    account = f"{connection.settings_dict['USER']}:{connection.settings_dict['PASSWORD']}"
    url = f"postgres://{account}@127.0.0.1:{proxy.port}/{connection.settings_dict['NAME']}"
    keys = {"INTERVAL": 0.05, "OVERFLOW": "spool", "SPOOL_DIR": str(tmp_path), "EXIT_TIMEOUT": 0.5}
    try:
        proxy.black_hole()
        server = serve(gunicorn(), {"TEST_POSTGRES_URL": url}, **keys)
        server.visit(1)
        wait_until(lambda: proxy.waiting)
        server.visit(REQUESTS - 1)
        server.stop()
        assert list(tmp_path.iterdir())
        proxy.heal()
        server = serve(gunicorn(), {"TEST_POSTGRES_URL": url}, **keys)
        server.visit(1)
        wait_until(lambda: sent() == REQUESTS + 1)
        server.stop()
    finally:
        proxy.close()
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_never_served_starts_no_thread():
    code = (
        "import django; django.setup()\n"
        "import threading, django_locqueue.accesslog.middleware\n"
        "raise SystemExit(threading.active_count() - 1)"
    )
    environ = environment({"DJANGO_SETTINGS_MODULE": "tests.accesslog.served"})
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environ, check=False).returncode == os.EX_OK


def test_no_signal_handler_is_ours():
    """The server's own are what ends it in order."""
    code = (
        "import signal; before = [signal.getsignal(number) for number in signal.valid_signals()]\n"
        "import django; django.setup()\n"
        "import django_locqueue.accesslog.asgi, django_locqueue.accesslog.middleware\n"
        "from django_locqueue.accesslog.recorder import recorder\n"
        "recorder._start_thread()\n"
        "raise SystemExit(before != [signal.getsignal(number) for number in signal.valid_signals()])"
    )
    environ = environment({"DJANGO_SETTINGS_MODULE": "tests.accesslog.served"})
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environ, check=False).returncode == os.EX_OK
