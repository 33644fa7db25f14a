"""Claims of tasks that wait for their turn under a limit: a rate, a number of running tasks, or both; or for a chunk.

They never are ready: a worker takes them out of ``blocked`` under the lock of their limit's row, which another worker
passes over. What runs under a key is counted in the tasks themselves, so that the rescue after a crash frees it.
"""

import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import takewhile
from typing import NamedTuple

from django_locqueue.policies.terms import Terms, load_terms
from django_locqueue.store.base import repeated
from django_locqueue.store.limit_rows import LimitKeeping, rate_key, rate_of
from django_locqueue.store.lines import Line, LineReading, Waiting
from django_locqueue.store.serve import TABLE, Owner, Serving
from django_locqueue.store.values import Chunk, Claimed, Key

MOST_LINES = 200  # looked at in one pass; the next goes on behind them
BUSY_SECONDS = 0.02  # another worker serves that line, for about as long
CLOCK_SECONDS = 0.001  # SQLite's counts milliseconds


@dataclass(slots=True)
class LimitedClaim:
    """What a pass over the lines gave; a chunk counts as one.

    ``start_by``: until when, by the monotonic clock, a task under a rate has to begin; after that it must go back.
    ``next_seconds``: until one of the lines that were looked at may give more, as far as a clock decides it.
    ``last``: the line behind which the next pass goes on; None: this one has seen the last.
    """

    tasks: list[Claimed] = field(default_factory=list)
    chunks: list[Chunk] = field(default_factory=list)
    start_by: dict[Key, float] = field(default_factory=dict)
    next_seconds: float | None = None
    last: Line | None = None

    @property
    def count(self) -> int:
        return len(self.tasks) + len(self.chunks)

    def goes_on_in(self, seconds: float | None) -> None:
        if seconds is not None and (self.next_seconds is None or seconds < self.next_seconds):
            self.next_seconds = seconds

    def add(self, turn: "Turn") -> None:
        if turn.is_chunk and turn.tasks:
            self.chunks.append(Chunk(tuple(turn.tasks)))
        else:
            self.tasks += turn.tasks
        if turn.start_by is not None:
            self.start_by.update({task.key: turn.start_by for task in turn.tasks})


class Turn(NamedTuple):
    """What one line gave at once. ``wait``: seconds until it may give more; None: that is no matter of time.

    ``closed_rate``: the rate that lets nothing start for so long; other lines may be under it too.
    """

    tasks: Sequence[Claimed] = ()
    wait: float | None = None
    is_chunk: bool = False
    start_by: float | None = None
    closed_rate: str | None = None


class Limiting(LimitKeeping, LineReading, Serving):
    def claim_limited(
        self,
        owner: Owner,
        limit: int,
        *,
        queues: Collection[str] = (),
        exclude_queues: Collection[str] = (),
        after: Line | None = None,
        now: datetime | None = None,
    ) -> LimitedClaim:
        """Give up to ``limit`` tasks or chunks to the owner whose turn it is: line by line, from behind ``after`` on.

        No queues: all that are not paused.
        """
        claim = LimitedClaim()
        closed: dict[str, float] = {}
        looked = 0
        for queue_name, key in self.queues_behind(after, queues, exclude_queues, now):
            lines = self.lines(queue_name, key, MOST_LINES - looked, now=now)
            for line, terms, running, wait in lines:
                claim.last = line
                wait = max(wait, closed.get(terms.rate_key or "", 0.0))
                if wait > 0:
                    claim.goes_on_in(wait)
                elif terms.concurrency is None or running < terms.concurrency:
                    self._serve(claim, line, owner, limit, closed, now)
                if claim.count >= limit:
                    claim.goes_on_in(0.0)
                    return claim
            looked += len(lines)
            if looked >= MOST_LINES:
                return claim
        claim.last = None
        return claim

    def claim_lines(
        self, lines: Iterable[Line], owner: Owner, limit: int, *, now: datetime | None = None
    ) -> LimitedClaim:
        """Give up to ``limit`` tasks or chunks of certain lines to the owner, if it is their turn."""
        claim = LimitedClaim()
        for line in lines:
            self._serve(claim, line, owner, limit, {}, now)
        return claim

    def next_turn(self, *, queues: Collection[str] = (), exclude_queues: Collection[str] = ()) -> float | None:
        """Return the seconds until a task may have its turn, as far as a clock decides it; None if none waits."""
        waits = [
            first.wait
            for name, key in self.queues_behind(None, queues, exclude_queues, None)
            for first in self.lines(name, key, MOST_LINES)
        ]
        return min(waits, default=None)

    def _serve(
        self,
        claim: LimitedClaim,
        line: Line,
        owner: Owner,
        limit: int,
        closed: dict[str, float],
        now: datetime | None,
    ) -> None:
        """Take from a line until it gives no more, or enough."""
        while claim.count < limit:
            turn = self._claim_from_line(line, owner, limit - claim.count, now)
            claim.add(turn)
            if turn.closed_rate is not None and turn.wait is not None:
                closed[turn.closed_rate] = turn.wait
            if not turn.tasks or turn.wait != 0:
                claim.goes_on_in(turn.wait)
                return

    @repeated
    def _claim_from_line(self, line: Line, owner: Owner, most: int, now: datetime | None) -> Turn:
        began = time.monotonic()  # before the database's clock is read: no start is later than it is taken for
        with self.transaction():
            limit = self.lock_limit(line.limit_key, now)
            if limit is None:
                return Turn(wait=BUSY_SECONDS)
            # Read behind the lock: who has claimed before us has committed.
            waiting = self.waiting_in(line, most + 1, now=now)
            if not waiting:
                return Turn()
            first = waiting[0]
            terms = load_terms(first.terms)
            running = 0 if terms.concurrency is None else self.running_under(line.limit_key)
            room = most if terms.concurrency is None else min(most, terms.concurrency - running)
            if room <= 0:
                return Turn()
            rate, key = rate_of(terms), rate_key(terms)
            rated = limit if key in (None, line.limit_key) else self.lock_limit(key, now)
            if rated is None:
                return Turn(wait=BUSY_SECONDS)
            if rate is not None and not rated.tokens(rate):
                open_at = rated.open_at(rate)
                self.change_limit(limit, next_at=open_at)
                return Turn(wait=(open_at - rated.at).total_seconds(), closed_rate=terms.rate_key)
            if terms.chunk is not None:
                # Meanwhile its queue may have been paused, its tasks cancelled, others have come.
                waiting = self.waiting_in(line, terms.chunk + 1, now=now)
                if not waiting or waiting[0].terms != first.terms:
                    return Turn(wait=BUSY_SECONDS)
                if (wait := _wait_for_more(waiting, terms, rated.at)) > 0:
                    return Turn(wait=wait)
                room = terms.chunk
            elif rate is not None:
                room = min(room, rated.tokens(rate))
            # One at a time is one after the other, too: there nobody goes before a first that somebody has locked.
            next_ones = _alike(waiting)[: room if terms.concurrency == 1 else None]
            tasks = self._claim_waiting(next_ones, room, owner, rated.at)
            if not tasks:
                return Turn(wait=BUSY_SECONDS)  # somebody changes them
            more: float | None = 0.0
            if rate is not None:
                rated = self.take_tokens(rated, rate, 1 if terms.chunk else len(tasks))
                if not rated.tokens(rate):
                    more = max(0.0, (rated.open_at(rate) - rated.at).total_seconds())
            if key != line.limit_key:
                self.change_limit(limit, concurrency=terms.concurrency, next_at=None)
            is_full = terms.concurrency is not None and running + len(tasks) >= terms.concurrency
            return Turn(
                tasks,
                wait=None if is_full or len(tasks) == len(waiting) else more,
                is_chunk=terms.chunk is not None,
                start_by=None if rate is None else began + rate.lag - CLOCK_SECONDS,
            )

    def _claim_waiting(self, waiting: Sequence[Waiting], limit: int, owner: Owner, at: datetime) -> list[Claimed]:
        """Claim the first of these, but those whose rows somebody has locked."""
        ids, params = self._ids_sql([each.id for each in waiting])
        picked = (
            f"FROM {TABLE} WHERE {ids} AND {self.any_state_sql} = 'blocked' "
            f"ORDER BY priority DESC, run_after, id LIMIT %s"
        )
        return self._claim_picked(picked, [*params, limit], owner, at)

    def _ids_sql(self, ids: Sequence[int]) -> tuple[str, list[object]]:
        return f"id IN ({', '.join(['%s'] * len(ids))})", list(ids)


def _alike(waiting: Sequence[Waiting]) -> list[Waiting]:
    """Return the first of a line as far as they have the same terms; those of a chunk are of one definition, too."""
    first = waiting[0]
    is_chunk = load_terms(first.terms).chunk is not None
    return list(
        takewhile(
            lambda each: each.terms == first.terms and (not is_chunk or each.task_path == first.task_path), waiting
        )
    )


def _wait_for_more(waiting: Sequence[Waiting], terms: Terms, at: datetime) -> float:
    """Return the seconds that a chunk still waits for others, 0 if it is whole or has waited for long enough."""
    members = _alike(waiting)
    if len(members) >= (terms.chunk or 1) or len(members) < len(waiting):
        return 0.0
    return terms.chunk_wait - (at - min(each.run_after for each in members)).total_seconds()
