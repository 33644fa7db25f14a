"""Claims tasks for free slots, and a little ahead of them."""

import math
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime

from django_locqueue import conf, endings
from django_locqueue.policies.outcome import Kind, Outcome
from django_locqueue.service import IDLE_SECONDS, Service, rest_after
from django_locqueue.store import Chunk, Claimed, Key, Store
from django_locqueue.store.aside import DAMAGE
from django_locqueue.store.serve import Owner
from django_locqueue.worker.claimer import Claimer
from django_locqueue.worker.execution import Execution
from django_locqueue.worker.growth import GROW_SECONDS, Growth
from django_locqueue.worker.pool import Pool
from django_locqueue.worker.room import Room
from django_locqueue.worker.scout import Scout

READ_AHEAD_SECONDS = 0.05  # of work, at the pace of late: tiny tasks come by the hundred, a long one is never hoarded
MEASURE_SECONDS = 0.01
MOST_AHEAD = 1000
LONGEST_UNSTARTED_SECONDS = 0.25  # then a claimed task goes back: the pace has changed, and others may be free
SUSPECT_SECONDS = 1.0  # for which a suspect goes back at most while another runs
STORED_LOOK_SECONDS = 0.002
SUSPECT_SPACING_SECONDS = 0.05  # between the returns of many that went back together


class Dispatcher(Service):
    """Polls fast just after work and slowly when idle.

    ``owner()`` gives the present worker row, None while its lease is in doubt: nothing is claimed then.
    ``give_back(execution)`` stores the outcome of a task that was claimed and not run. ``ending()``:
    the tasks whose outcomes are known and wait to be stored. ``most_tasks``: it claims no more than that in all,
    and counts a chunk as one.
    """

    name = "dispatcher"

    def __init__(
        self,
        store: Store,
        pool: Pool,
        owner: Callable[[], Owner | None],
        give_back: Callable[[Execution], None],
        ending: Callable[[], set[Key]],
        is_suspect: Callable[[Claimed], bool] = lambda task: task.crashes > 0,
        *,
        queues: Collection[str] = (),
        exclude_queues: Collection[str] = (),
        most_tasks: int | None = None,
    ) -> None:
        super().__init__()
        self.store = store
        self.pool = pool
        self.owner = owner
        self.give_back = give_back
        self.ending = ending
        self.is_suspect = is_suspect
        self.scout = Scout(store, owner, queues, exclude_queues, on_return=self.wake)
        self.claimer = Claimer(store, self.scout, queues, exclude_queues)
        self.most_tasks = most_tasks
        self._taken = 0  # tasks that it has claimed and not given back unrun
        self.least, self.most = map(float, conf.worker.POLL_SECONDS)
        self._delay = self.least
        self._known_queues: set[str] = set()
        self._reconcile_at = time.monotonic() + conf.worker.LEASE_SECONDS
        self._ahead = 0
        self.room = Room()
        self._growth = Growth()
        self._pace = 0.0  # tasks a second
        self._measured = (time.monotonic(), 0)
        self._odd = False  # whose turn it is where there is room for one
        self._met_damage = False  # the last claim failed for what stands in a row
        pool.on_free = self.slot_freed
        self.found_nothing = False  # the last claim had room and got less: nothing was ready then

    @property
    def ended(self) -> int:
        """How many of the tasks that it has claimed have ended."""
        return self._taken - self.pool.busy

    def on_failure(self, error: Exception) -> None:
        self._met_damage = isinstance(error, DAMAGE)

    def slot_freed(self) -> None:
        if self._is_hungry():
            self.wake()

    def _is_hungry(self) -> bool:
        """Whether half of what was read ahead is used up, or half of the event loop is free.

        Not sooner: while a claim for one task is under way, the threads run out of the hundreds that they had.
        """
        return self.pool.free_threads + self._ahead // 2 > 0 or (self.room.is_mixed and self._is_loop_hungry())

    def _is_loop_hungry(self) -> bool:
        return self.pool.free_async > self.pool.async_concurrency // 2

    def hear(self, queue_name: str) -> None:
        """Something was enqueued there: look at once, and after a moment again for what came right behind it."""
        self.claimer.hear(queue_name)
        self.wake(again=True)

    def hear_limited(self) -> None:
        """Something that waits for its turn was enqueued."""
        self.claimer.limited.hear()
        self.wake(again=True)

    def end_turn(self, task: Claimed) -> None:
        """A limited task has ended, and its end is stored."""
        self.claimer.limited.end(task)
        self.wake()

    def run_once(self, now: datetime | None = None) -> float:
        self._measure()
        self.give_back_unstarted(waited=LONGEST_UNSTARTED_SECONDS)
        owner = self.owner()
        if owner is None:
            return self.least
        if (held := self.scout.take_held()) is not None:
            self._release_unknown(held, self._known())
        elif time.monotonic() >= self._reconcile_at and not self.scout.is_out:
            self._reconcile(owner)
        if self._met_damage:
            endings.set_aside(self.store)
            self._met_damage = False
        is_growing = self._grow()
        limited = self._claim_limited(owner, now)
        room = self._room() if self._is_hungry() else 0
        if self.most_tasks is not None:
            room = min(room, self.most_tasks - self._taken)
        if room <= 0:
            # A thread that becomes free wakes us; but what waits unstarted must be watched, and the places on the loop.
            waits = self.pool.free_threads < 0 or self.room.is_mixed
            wait = GROW_SECONDS if is_growing else self.least if waits else IDLE_SECONDS
            return min(wait, self._limited_wait())
        reconcile_at, self._reconcile_at = self._reconcile_at, 0.0  # until the answer is there, and in the pool
        found_nothing, self.found_nothing = limited is None or self.found_nothing, False  # until the same
        claimed = self.claimer.claim(owner, room, now)
        self._taken += len(claimed)
        self.pool.submit(self._one_suspect(claimed))
        self._reconcile_at = reconcile_at
        self.room.note(len(claimed), sum(map(self.pool.is_async, claimed)))
        self.found_nothing = found_nothing and len(claimed) < room
        self._remember({task.queue_name for task in claimed})
        self._delay = self.least if claimed or limited else min(self._delay * 1.5, self.most)
        if not self.found_nothing and self.room.is_mixed and self._is_loop_hungry():
            return 0.0  # this claim told that more of them are async
        return min(GROW_SECONDS if self._grow() else self._delay, self._limited_wait())

    def _claim_limited(self, owner: Owner, now: datetime | None) -> int | None:
        """Claim tasks whose turn it is, for threads that are free or as good as free; return how many.

        None: there was no reason to look, or no room.

        Beside a backlog of others they get half of the room, so that neither waits for the end of the other.
        """
        limited = self.claimer.limited
        if limited.due_in > 0 or (room := self._limited_room()) <= 0:
            return None
        if self.claimer.has_backlog:
            self._odd ^= True
            room = (room + self._odd) // 2
        if self.most_tasks is not None:
            room = min(room, self.most_tasks - self._taken)
        if room <= 0:
            return None
        reconcile_at, self._reconcile_at = self._reconcile_at, 0.0
        self.found_nothing = False
        claim = limited.claim(owner, room, now)
        tasks: list[Claimed | Chunk] = [*claim.tasks, *claim.chunks]
        self._taken += len(tasks)
        self.pool.submit(self._one_suspect(tasks), start_by=claim.start_by, first=True)
        self._reconcile_at = reconcile_at
        self.room.note(len(tasks), sum(map(self.pool.is_async, tasks)))
        self.found_nothing = claim.count < room
        self._remember({task.queue_name for task in tasks})
        return claim.count

    def _limited_room(self) -> int:
        """As many as threads are free, or will be at once, as they end many tasks before the next are due."""
        soon = min(self.pool.size, self._ahead // 2) - self.pool.first_waiting
        return max(self.room.size(self.pool.free_threads, self.pool.free_async), soon)

    def _limited_wait(self) -> float:
        """Return the seconds until somebody's turn comes. Without room for him, who ends a task wakes us."""
        if self.most_tasks is not None and self._taken >= self.most_tasks:
            return IDLE_SECONDS
        wait = self.claimer.limited.due_in
        return wait if wait == math.inf or self._limited_room() > 0 else IDLE_SECONDS

    def _room(self) -> int:
        return self.room.size(self.pool.free_threads + self._ahead, self.pool.free_async)

    def _grow(self) -> bool:
        """Add a thread if it is time. Return whether it may be time soon.

        Fewer tasks end in READ_AHEAD_SECONDS than there are threads: each takes longer than that. With shorter ones
        more threads would only wait for each other.
        """
        is_short = (
            self.pool.may_grow
            and self.pool.free_threads <= 0
            and (self.pool.free_threads < 0 or not self.found_nothing)
            and self._ahead < self.pool.size
        )
        if self._growth.is_due(is_short=is_short):
            self.pool.grow()
        return is_short

    def _one_suspect(self, claimed: Sequence[Claimed | Chunk]) -> Sequence[Claimed | Chunk]:
        """Return what may run now; the rest goes back for a moment, uncharged.

        Tasks whose workers died may have been what killed them. Those that one death more would fail run one at a
        time in a process, and none is kept waiting behind another, so that no innocent one fails for its neighbour.
        They come back one by one; if the one that runs takes long, not sooner than after as long again.
        """
        if not any(each.crashes for each in claimed):
            return claimed
        suspects = [task for each in claimed for task in _members(each) if task.crashes and self.is_suspect(task)]
        if not suspects:
            return claimed
        running = [each.seconds for each in self.pool.members if each.claimed.crashes and self.is_suspect(each.claimed)]
        late = suspects if running else suspects[1:]
        least = min(max(running, default=0.0), SUSPECT_SECONDS)
        for place, task in enumerate(late, 1):
            self._give_back(Execution(task), delay=max(place * SUSPECT_SPACING_SECONDS, least))
        if not running:
            self._wait_until_stored(self.ending())
        left = _without({task.key for task in late}, claimed)
        self._taken -= len(claimed) - len(left)
        return left

    def _wait_until_stored(self, keys: set[Key]) -> None:
        """Let it be written how these ended or that they went back, before one begins that may kill us.

        A suspect among them would be charged for it: its last death, although it has done nothing.
        """
        deadline = time.monotonic() + SUSPECT_SECONDS
        while keys & self.ending() and time.monotonic() < deadline:
            threading.Event().wait(STORED_LOOK_SECONDS)

    def _reconcile(self, owner: Owner) -> None:
        """Look at what this worker holds: after a claim that failed, and once in a lease.

        Where a connection was cut, the server may commit later.
        """
        began = time.monotonic()
        known = self._known()  # before the database is asked: what ends meanwhile was there
        self._release_unknown(self.store.held(owner.id), known)
        ended = time.monotonic()
        self._reconcile_at = ended + max(conf.worker.LEASE_SECONDS, rest_after(ended - began))

    def _known(self) -> set[Key]:
        # What is claimed is claimed on this thread, so this is all of it.
        return {execution.key for execution in self.pool.members} | self.ending()

    def _release_unknown(self, held: list[Claimed], known: set[Key]) -> None:
        """Give back what a claim took whose answer never came: its commit, but not the connection, had succeeded.

        This worker lives and beats, so nobody would ever rescue it. What has ended meanwhile refuses the release.
        """
        if unknown := [task for task in held if task.key not in known]:
            endings.release(self.store, unknown, announce=endings.announcing)

    def _measure(self) -> None:
        """Set how far to read ahead: what was finished of late in READ_AHEAD_SECONDS."""
        (since, before), now = self._measured, time.monotonic()
        if now - since >= MEASURE_SECONDS:
            pace = (self.pool.ended_on_threads - before) / (now - since)
            self._pace = max(pace, (self._pace + pace) / 2)
            self._ahead = min(int(self._pace * READ_AHEAD_SECONDS), MOST_AHEAD)
            self._measured = (now, self.pool.ended_on_threads)

    def give_back_unstarted(self, *, waited: float = 0.0) -> None:
        """Release the tasks that have waited for a thread longer than ``waited`` seconds."""
        for execution in self.pool.withdraw(waited=waited):
            self._taken -= 1
            execution.ended = time.monotonic()
            for member in execution.members:
                self._give_back(member)

    def _give_back(self, execution: Execution, *, delay: float = 0) -> None:
        execution.outcome = Outcome(Kind.RELEASED, delay=delay)
        execution.ended = time.monotonic()
        self.give_back(execution)

    def _remember(self, names: set[str]) -> None:
        if new := names - self._known_queues:
            self.store.add_queues(sorted(new))
            self._known_queues |= new


def _members(task: Claimed | Chunk) -> Sequence[Claimed]:
    return task.members if isinstance(task, Chunk) else (task,)


def _without(keys: set[Key], claimed: Iterable[Claimed | Chunk]) -> list[Claimed | Chunk]:
    left: list[Claimed | Chunk] = []
    for each in claimed:
        if isinstance(each, Chunk):
            if members := tuple(task for task in each.members if task.key not in keys):
                left.append(Chunk(members))
        elif each.key not in keys:
            left.append(each)
    return left
