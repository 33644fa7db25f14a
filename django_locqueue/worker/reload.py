"""``--reload``: restart the worker when code changes, after it has stopped properly.

Django's own reloader ends the process in the middle of whatever runs. Here the child stops its worker first, and the
parent passes stop signals on.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.apps import apps
from django.utils import autoreload

from django_locqueue.worker.shutdown import exit_code
from django_locqueue.worker.worker import Worker

CODE_CHANGED = 3  # the exit code by which Django's reloader asks to be started again
LOOK_SECONDS = 0.5
STOPPING = (signal.SIGTERM, signal.SIGINT)


def is_child() -> bool:
    return os.environ.get(autoreload.DJANGO_AUTORELOAD_ENV) == "true"


def run_parent(say: Callable[[str], None]) -> int:
    """Run this command again as a child, again and again while its code changes; return its exit code.

    A child that could not even start after a change (a half-typed line) is started again after the next one.
    """
    child: subprocess.Popen[bytes] | None = None
    received: list[int] = []
    reloaded = False

    def pass_on(number: int, frame: Any) -> None:
        received.append(number)
        if child is not None:
            child.send_signal(number)

    for number in STOPPING:
        signal.signal(number, pass_on)
    environment = {**os.environ, autoreload.DJANGO_AUTORELOAD_ENV: "true"}
    while True:
        child = subprocess.Popen(  # noqa: S603 - this very command
            autoreload.get_child_arguments(),
            env=environment,
            close_fds=False,
            start_new_session=True,  # what is sent to the group (Ctrl+C) reaches the child once, from us
        )
        code = child.wait()
        child = None
        if received:  # perhaps while no child was there to hear it
            return 0 if code == CODE_CHANGED else code
        if code != CODE_CHANGED:
            if not reloaded:
                return code
            say("The changed code does not start; waiting for the next change.")
            before = _project_files()
            while not received and _project_files() == before:
                threading.Event().wait(LOOK_SECONDS)
            if received:
                return 0
        reloaded = True


def run_child(worker: Worker) -> int:
    """Serve in a thread, watch the code in this one; however this one ends, the worker stops first."""
    codes: list[int] = []
    received: list[int] = []
    left = threading.Event()  # this thread no longer watches

    def serve() -> None:
        codes.append(worker.run())
        while not left.is_set():
            os.kill(os.getpid(), signal.SIGTERM)  # wakes the reloader, which would watch for ever
            left.wait(LOOK_SECONDS)

    def note(number: int, frame: Any) -> None:
        if not worker.finished.is_set():
            received.append(number)
            worker.request_stop()
        # Where Python was in a callback of the garbage collector it ignores this; then `serve` asks again in its end.
        if not left.is_set() and (len(received) == 1 or worker.finished.is_set()):
            sys.exit(0)

    for number in STOPPING:
        signal.signal(number, note)
    try:
        autoreload.start_django(autoreload.get_reloader(), serve)
        code = 0
    except SystemExit as ended:
        left.set()
        code = ended.code if isinstance(ended.code, int) else 1
    left.set()
    if not worker.is_stopping and not worker.finished.is_set():
        worker.request_stop()
    while not worker.finished.wait(LOOK_SECONDS):  # short waits, since a handler may need the lock
        pass
    return exit_code(received, code or (codes[0] if codes else 0))


def _project_files() -> dict[Path, float]:
    """Return when each Python file of the project's own apps was changed."""
    libraries = tuple(path for path in sys.path if path.endswith("site-packages"))
    folders = {config.path for config in apps.get_app_configs() if not config.path.startswith(libraries)}
    return {file: file.stat().st_mtime for folder in folders for file in Path(folder).rglob("*.py") if file.exists()}
