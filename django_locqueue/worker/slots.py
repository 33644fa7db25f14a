"""A small table in shared memory: which tasks a worker process really runs at this moment.

The process writes it as its threads and its event loop begin and end tasks; its supervisor reads it when the process
has died. Only those tasks are charged a crash; what was claimed and waited goes back free.
"""

import mmap
import os
import struct
import tempfile
from typing import Any

from django_locqueue.store import Key

_number = struct.Struct("<q")
_entry = struct.Struct("<qq")  # a task's id and the number of its claim
NOTHING: Key = (0, 0)
MOST_THREADS = 512  # of one process
MOST_ASYNC = 10_000  # tasks on its event loop
CAPACITY = MOST_THREADS + MOST_ASYNC  # threads first
_SLOTS = 4 * _number.size  # where they begin


def _number_at(place: int) -> Any:
    """Return a property that is a number in the table."""

    def read(table: "SlotTable") -> int:
        return int(_number.unpack_from(table._memory, place * _number.size)[0])

    def write(table: "SlotTable", number: int) -> None:
        _number.pack_into(table._memory, place * _number.size, number)

    return property(read, write)


class SlotTable:
    """``mark(slot, key)`` when a task begins, without a key when it ends. ``worker_id``: the process's worker row.

    ``parent``: the pid of the supervisor that reads it. ``pulse`` grows while Python code can run in the process, and
    is 0 before and after its service; ``beats`` grows with each heartbeat; ``retiring``: it leaves to be replaced.
    """

    SIZE = _SLOTS + _entry.size * CAPACITY

    def __init__(self, descriptor: int, parent: int = 0) -> None:
        self.descriptor = descriptor
        self.parent = parent
        self._memory = mmap.mmap(descriptor, self.SIZE)

    @classmethod
    def create(cls) -> "SlotTable":
        """Make an empty table in a file without a name; a child process inherits its descriptor."""
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
        os.ftruncate(descriptor, cls.SIZE)
        return cls(descriptor)

    worker_id = _number_at(0)
    pulse = _number_at(1)
    beats = _number_at(2)
    retiring = _number_at(3)

    def mark(self, slot: int, key: Key = NOTHING) -> None:
        _entry.pack_into(self._memory, _SLOTS + slot * _entry.size, *key)

    def running(self) -> set[Key]:
        """Return the keys of the tasks that run. One that a death has torn names no claim, and nobody is charged."""
        return set(_entry.iter_unpack(self._memory[_SLOTS:])) - {NOTHING}

    def clear(self) -> None:
        self._memory[:] = bytes(self.SIZE)
