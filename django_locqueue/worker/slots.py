"""A small table in shared memory: which tasks a worker process really runs at this moment.

The process writes it as its threads and its event loop begin and end tasks; its supervisor reads it when the process
has died. Only those tasks are charged a crash; what was claimed and waited goes back free.
"""

import mmap
import os
import struct
import tempfile

from django_locqueue.store import Key

_number = struct.Struct("<q")
_entry = struct.Struct("<qq")  # a task's id and the number of its claim
NOTHING: Key = (0, 0)
MOST_THREADS = 512  # of one process
MOST_ASYNC = 10_000  # tasks on its event loop
CAPACITY = MOST_THREADS + MOST_ASYNC  # threads first


class SlotTable:
    """``mark(slot, key)`` when a task begins, without a key when it ends. ``worker_id``: the process's worker row.

    ``parent``: the pid of the supervisor that reads it.
    """

    SIZE = _number.size + _entry.size * CAPACITY

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

    def mark(self, slot: int, key: Key = NOTHING) -> None:
        _entry.pack_into(self._memory, _number.size + slot * _entry.size, *key)

    def running(self) -> set[Key]:
        """Return the keys of the tasks that run. One that a death has torn names no claim, and nobody is charged."""
        return set(_entry.iter_unpack(self._memory[_number.size :])) - {NOTHING}

    def clear(self) -> None:
        self._memory[:] = bytes(self.SIZE)
