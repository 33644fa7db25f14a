"""A small table in shared memory: which tasks a worker process really runs at this moment.

The process writes it as its threads and its event loop begin and end tasks; its supervisor reads it when the process
has died. Only those tasks are charged a crash; what was claimed and waited goes back free.
"""

import mmap
import os
import struct
import tempfile

_number = struct.Struct("<q")
MOST_THREADS = 512  # of one process
MOST_ASYNC = 10_000  # tasks on its event loop
CAPACITY = MOST_THREADS + MOST_ASYNC  # threads first


class SlotTable:
    """``mark(slot, task_id)`` when a task begins, with 0 when it ends. ``worker_id``: the process's worker row.

    ``parent``: the pid of the supervisor that reads it.
    """

    SIZE = _number.size * (CAPACITY + 1)

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

    def mark(self, slot: int, task_id: int) -> None:
        _number.pack_into(self._memory, (slot + 1) * _number.size, task_id)

    def running(self) -> set[int]:
        """Return the ids of the tasks that run."""
        return {task_id for (task_id,) in _number.iter_unpack(self._memory[_number.size :]) if task_id}

    def clear(self) -> None:
        self._memory[:] = bytes(self.SIZE)
