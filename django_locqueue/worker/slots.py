"""A small table in shared memory: which tasks a worker process runs at this moment, and which it ran of late.

The process writes it as its threads and its event loop begin and end tasks; its supervisor reads it when the process
has died. Only those tasks are charged a crash whose function has begun and whose outcome is not stored; what was
claimed and waited goes back free.
"""

import mmap
import os
import struct
import tempfile
from collections.abc import Iterable
from itertools import count
from typing import Any

from django_locqueue.store import Key

_number = struct.Struct("<q")
_entry = struct.Struct("<qq")  # a task's id and the number of its claim
NOTHING: Key = (0, 0)
REPLACED, DISMISSED = 1, 2
MOST_THREADS = 512  # of one process
MOST_ASYNC = 10_000  # tasks on its event loop
MOST_MEMBERS = 100_000  # of chunks that run, beside the first of each; what finds no place here is not charged
CAPACITY = MOST_THREADS + MOST_ASYNC + MOST_MEMBERS  # threads first
MOST_ENDED = 4096  # tasks of late: more than wait for the acker
_SLOTS = 4 * _number.size  # where they begin
_ENDED = _SLOTS + _entry.size * CAPACITY


def _number_at(place: int) -> Any:
    """Return a property that is a number in the table."""

    def read(table: "SlotTable") -> int:
        return int(_number.unpack_from(table._memory, place * _number.size)[0])

    def write(table: "SlotTable", number: int) -> None:
        _number.pack_into(table._memory, place * _number.size, number)

    return property(read, write)


class SlotTable:
    """``begin(slot, key)`` when a task begins, ``end(slot, key)`` when it ends.

    ``worker_id``: the process's worker row. ``parent``: the pid of the supervisor that reads it. ``pulse`` grows while
    Python code can run in the process, and is 0 before and after its service; ``beats`` grows with each heartbeat;
    ``retiring``: why it leaves, 0 if it does not, ``REPLACED`` to be, or ``DISMISSED`` for good.
    """

    SIZE = _ENDED + _entry.size * MOST_ENDED

    def __init__(self, descriptor: int, parent: int = 0) -> None:
        self.descriptor = descriptor
        self.parent = parent
        self._memory = mmap.mmap(descriptor, self.SIZE)
        self._ends = count()
        self._members: dict[int, list[tuple[int, Key]]] = {}  # of the chunks that run, by slot: their places here
        self._free: list[int] = []  # places that members have left
        self._unused = iter(range(MOST_THREADS + MOST_ASYNC, CAPACITY))

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

    def begin(self, slot: int, key: Key) -> None:
        _entry.pack_into(self._memory, _SLOTS + slot * _entry.size, *key)

    def end(self, slot: int, key: Key) -> None:
        _entry.pack_into(self._memory, _ENDED + next(self._ends) % MOST_ENDED * _entry.size, *key)
        _entry.pack_into(self._memory, _SLOTS + slot * _entry.size, *NOTHING)

    def begin_members(self, slot: int, keys: Iterable[Key]) -> None:
        """A chunk's other members have begun in this slot. Each has a place, as a supervisor charges each."""
        self._members[slot] = members = []
        for key in keys:
            place = self._free_place()
            if place is not None:
                members.append((place, key))
                self.begin(place, key)

    def end_members(self, slot: int) -> None:
        for place, key in self._members.pop(slot):
            self.end(place, key)
            self._free.append(place)

    def _free_place(self) -> int | None:
        try:
            return self._free.pop()
        except IndexError:
            return next(self._unused, None)

    def running(self) -> set[Key]:
        """Return the keys of the tasks that run. One that a death has torn names no claim, and nobody is charged."""
        return set(_entry.iter_unpack(self._memory[_SLOTS:_ENDED])) - {NOTHING}

    def begun(self) -> set[Key]:
        """Return the keys of those that run, and of those that ended of late: their outcomes may not be stored."""
        return set(_entry.iter_unpack(self._memory[_SLOTS:])) - {NOTHING}

    def clear(self) -> None:
        self._memory[:] = bytes(self.SIZE)
