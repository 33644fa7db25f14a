"""A chunk on one slot: one call of a function, and an execution for each of its tasks."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from django_locqueue.store import Chunk, Key, Store
from django_locqueue.worker.execution import Execution, RunContext, StopReason


class ChunkExecution(Execution):
    """It has the slot, the deadline and the call; its members have the outcomes. ``claimed`` is that of the first."""

    is_chunk: ClassVar[bool] = True

    def __init__(self, members: list[Execution]) -> None:
        super().__init__(members[0].claimed)
        self._members = members

    @classmethod
    def of(cls, chunk: Chunk, start_by: Mapping[Key, float] = MappingProxyType({})) -> "ChunkExecution":
        return cls([Execution(claimed, start_by=start_by.get(claimed.key)) for claimed in chunk.members])

    @property
    def members(self) -> list[Execution]:
        return self._members

    def begin(self) -> None:
        super().begin()
        for member in self.members:
            member.began = self.began

    def ask_to_stop(self, reason: StopReason, ids: Collection[int] | None = None) -> None:
        """Let the members know. The function itself is asked when all of its calls are."""
        for member in self.members:
            member.ask_to_stop(reason, ids)
        # Not of those that ended before it began: damaged, or expired.
        reasons = {member.stop_reason for member in self.members if member.outcome is None}
        if reasons and None not in reasons and (reason is not StopReason.CANCELLED or reasons == {reason}):
            super().ask_to_stop(reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkContext(RunContext):
    """What a chunk's function with ``takes_context=True`` gets. What concerns one call stands in its ``ChunkCall``."""

    execution: Execution
    store: Store
