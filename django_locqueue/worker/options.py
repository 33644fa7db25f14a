"""What a worker is told when it is started."""

import os
import socket
from collections.abc import Collection
from dataclasses import dataclass

from django_locqueue.worker.heartbeat_file import HeartbeatFile
from django_locqueue.worker.quota import UNLIMITED, Quota
from django_locqueue.worker.slots import SlotTable
from django_locqueue.worker.threads import ThreadRange


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    name: str
    threads: ThreadRange | int
    grace_seconds: float
    queues: Collection[str] = ()
    exclude_queues: Collection[str] = ()
    drain: bool = False  # leave when nothing is ready and nothing runs
    until_empty: bool = False  # and nothing is scheduled either
    quota: Quota = UNLIMITED
    heartbeat_file: HeartbeatFile | None = None
    schedules: bool = True  # whether it also enqueues what schedules ask for
    table: SlotTable | None = None  # of a child process: what its supervisor reads when it has died


def default_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"[:100]
