"""A small table in shared memory: which tasks a worker process really runs at this moment.

The process writes it as its threads begin and end tasks; its supervisor reads it when the process has died. Only
those tasks are charged a crash; what was claimed and waited goes back free.
"""

import mmap
import os
import struct
import tempfile
from typing import Any

_number = struct.Struct("<q")
CAPACITY = 512  # slots of one process


def _counter(place: int) -> Any:
    """Return a property that is a number in the table."""

    def read(table: "SlotTable") -> int:
        return int(_number.unpack_from(table._memory, place * _number.size)[0])

    def write(table: "SlotTable", number: int) -> None:
        _number.pack_into(table._memory, place * _number.size, number)

    return property(read, write)


class SlotTable:
    """``mark(slot, task_id)`` when a task begins, with 0 when it ends. ``worker_id``: the process's worker row.

    ``parent``: the pid of the supervisor that reads it. ``pulse`` grows while Python code can run in the process, and
    is 0 before and after its service; ``beats`` grows with each heartbeat; ``retiring``: it leaves to be replaced.
    """

    SIZE = _number.size * (CAPACITY + 4)

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

    @property
    def worker_id(self) -> int:
        return int(_number.unpack_from(self._memory)[0])

    @worker_id.setter
    def worker_id(self, worker_id: int) -> None:
        _number.pack_into(self._memory, 0, worker_id)

    pulse = _counter(CAPACITY + 1)
    beats = _counter(CAPACITY + 2)
    retiring = _counter(CAPACITY + 3)

    def mark(self, slot: int, task_id: int) -> None:
        _number.pack_into(self._memory, (slot + 1) * _number.size, task_id)

    def running(self) -> set[int]:
        """Return the ids of the tasks that run."""
        return {task_id for (task_id,) in _number.iter_unpack(self._slots) if task_id}

    @property
    def _slots(self) -> bytes:
        return self._memory[_number.size : _number.size * (CAPACITY + 1)]

    def clear(self) -> None:
        self._memory[:] = bytes(self.SIZE)
