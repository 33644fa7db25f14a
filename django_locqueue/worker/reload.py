"""``--reload``: restart the worker when code changes, after it has stopped properly (CASES F9).

Django's own reloader ends the process in the middle of whatever runs. Here the child stops its worker first, and the
parent passes stop signals on.
"""

import os
import signal
import subprocess
import sys
from typing import Any

from django.utils import autoreload

from django_locqueue.worker.worker import Worker

CODE_CHANGED = 3  # the exit code by which Django's reloader asks to be started again


def is_child() -> bool:
    return os.environ.get(autoreload.DJANGO_AUTORELOAD_ENV) == "true"


def run_parent() -> int:
    """Run this command again as a child, again and again while its code changes; return its exit code."""
    child: subprocess.Popen[bytes] | None = None
    received: list[int] = []

    def pass_on(number: int, frame: Any) -> None:
        received.append(number)
        # A terminal sends Ctrl+C to the child as well.
        if child is not None and number != signal.SIGINT:
            child.send_signal(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, pass_on)
    environment = {**os.environ, autoreload.DJANGO_AUTORELOAD_ENV: "true"}
    while True:
        child = subprocess.Popen(  # noqa: S603 - this very command
            autoreload.get_child_arguments(), env=environment, close_fds=False
        )
        code = child.wait()
        if code != CODE_CHANGED or received:  # a signal may have come while no child was there to hear it
            return 0 if code == CODE_CHANGED else code


def run_child(worker: Worker) -> int:
    """Serve in a thread, watch the code in this one; however this one ends, the worker stops first."""
    codes: list[int] = []

    def serve() -> None:
        codes.append(worker.run())
        os.kill(os.getpid(), signal.SIGTERM)  # wakes the reloader, which would watch for ever

    def leave(number: int, frame: Any) -> None:
        sys.exit(0)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, leave)
    try:
        autoreload.start_django(autoreload.get_reloader(), serve)
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: worker.request_stop())
    if not worker.finished.is_set():
        worker.request_stop()
        worker.finished.wait()
    return code or (codes[0] if codes else 0)
