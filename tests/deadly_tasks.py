"""Tasks that end, double or outlive the process that runs them."""

import ctypes
import os
import signal
import sys
import threading
import time
from pathlib import Path

from django.contrib.auth.models import Group
from django.db import connection

from django_locqueue import task
from django_locqueue.worker.quota import resident_megabytes
from tests.tasks import write_ledger


@task
def fork_and_raise(ledger: str) -> None:
    if os.fork() == 0:
        raise ValueError("out of the child")
    write_ledger(ledger, "forked")


@task(atomic=True)
def fork_in_a_transaction(ledger: str, then: str) -> str:
    """The child goes out of the function in one of several ways, while its parent waits for it."""
    Group.objects.create(name="before the fork")
    pid = os.fork()
    if pid == 0:
        match then:
            case "return":
                return "from the child"
            case "raise":
                raise ValueError("out of the child")
            case "exit":
                sys.exit(0)
    os.waitpid(pid, 0)
    write_ledger(ledger, "parent")
    Group.objects.create(name="after the fork")
    return "from the parent"


@task
def close_the_standard_streams() -> None:
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        stream.close()


@task
def break_the_process_at_first(ledger: str) -> None:
    """A segmentation fault, in the first run only."""
    write_ledger(ledger, "start")
    if Path(ledger).read_text().splitlines().count("start") == 1:
        ctypes.string_at(0)


@task
def leave_a_thread(ledger: str) -> None:
    threading.Thread(target=time.sleep, args=(60,)).start()
    write_ledger(ledger, "start")


@task
def exit_process_at_first(ledger: str) -> None:
    """Leave the process with a code of its own in the first run only."""
    write_ledger(ledger, "start")
    if Path(ledger).read_text().splitlines().count("start") == 1:
        os._exit(3)


@task
def die_at_first(ledger: str) -> None:
    """Kill its process in the first run only."""
    write_ledger(ledger, "start")
    if Path(ledger).read_text().splitlines().count("start") == 1:
        os.kill(os.getpid(), signal.SIGKILL)


@task
def end_thread(name: str) -> None:
    """Let a thread of the worker end as by a fault that nobody foresaw."""
    while not (found := [each for each in threading.enumerate() if each.name == name]):
        time.sleep(0.01)  # it is about to be started
    [thread] = found

    def strike() -> None:
        while (
            thread.is_alive()
        ):  # once may be lost: within a function that SQLite calls, it is an error of the database
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit))
            thread.join(0.5)

    # From elsewhere: a thread that waits gets it when it is woken, perhaps by the end of this task.
    threading.Thread(target=strike, daemon=True).start()


@task
def compute(ledger: str, seconds: float) -> None:
    """Keep a core busy, in Python alone."""
    write_ledger(ledger, "start")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1000))


@task
def query(ledger: str, seconds: float) -> None:
    """Keep the database busy."""
    write_ledger(ledger, "start")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        Group.objects.count()


@task
def kill_own_process(ledger: str) -> None:
    write_ledger(ledger, "start")
    os.kill(os.getpid(), signal.SIGKILL)


kept: list[bytes] = []


@task
def hoard(megabytes: int) -> None:
    kept.append(b"x" * (megabytes << 20))


@task
def read_much(number: int) -> float:
    """Read 200 KB by several queries; every tenth fails. Returns the megabytes that the process holds."""
    for _ in range(3):
        with connection.cursor() as cursor:
            cursor.execute("SELECT %s", ["x" * 200_000])
            cursor.fetchall()
    if number % 10 == 0:
        raise ValueError("x" * 100_000)
    return resident_megabytes()
