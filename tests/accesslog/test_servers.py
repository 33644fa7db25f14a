"""What was recorded survives the end of a real server's processes."""

import os
import signal
import subprocess
import sys

import pytest

from tests.accesslog.server import gunicorn, needs, sent, uvicorn, uwsgi
from tests.processes import wait_until
from tests.processes.process import ROOT, environment

REQUESTS = 10

pytestmark = [pytest.mark.processes, pytest.mark.any_vendor, pytest.mark.django_db(transaction=True)]


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
