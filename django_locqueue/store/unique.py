"""Storing calls that are unique: what nobody holds is stored, for the rest who holds it is found.

Nothing here fails a statement, so the caller's transaction goes on and the server logs no error. What is said of a
task that waits stays true until the caller's transaction has ended: nobody starts it before, so that it sees what the
caller commits with his call.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from datetime import timedelta
from typing import Any

from django.db.models import QuerySet, TextField, Value

from django_locqueue.exceptions import DuplicateTask
from django_locqueue.models import FINISHED, WAITING, State, Task, UniqueItem, turn_of
from django_locqueue.policies import unique
from django_locqueue.store.base import StoreBase, repeated
from django_locqueue.store.enqueue import Enqueuing
from django_locqueue.store.values import Call, Enqueued, Itemised, Placed

BATCH = 100  # rows a statement: to split a text with thousands of parameters takes the driver longer than to store them
ITEMS_BATCH = 1000  # these have two

Merge = Callable[[Any, str], Any]  # (the stored call, decoded; another as text) -> what has the items of both, or None


class FreeingItems(StoreBase):
    share_lock = ""  # ends a SELECT whose rows nobody may change before our transaction has ended
    items_by_lock = UniqueItem._meta.db_table  # to be read by the index of the locks

    @property
    def _items(self) -> "QuerySet[UniqueItem]":
        return UniqueItem.objects.using(self.alias)

    def _free_items_of(self, task_ids: Collection[int], lock: str = "") -> None:
        """Free what tasks hold that end without a run. ``lock``: how their rows are locked.

        But not what a caller's open transaction holds who has left it out for their sake: an end waits for no caller.
        An item of a task that has ended is kept from nobody, see ``_take_items``, and goes with the task's row.
        """
        ended = set(task_ids)
        held = sorted(self._items.filter(task_id__in=ended).values_list("lock", flat=True))
        for start in range(0, len(held), ITEMS_BATCH):
            # Of those that are still theirs: a call may have taken one over meanwhile.
            free = self._locked_items(held[start : start + ITEMS_BATCH], lock or self.skip_locked)
            self._delete_items([name for name, task_id in free.items() if task_id in ended])

    def _locked_items(self, locks: Sequence[str], lock: str) -> dict[str, int]:
        """Return which tasks hold the items that are there. ``lock``: how their rows are locked."""
        name = self.connection.ops.quote_name("lock")
        where = f"{name} IN ({', '.join(['%s'] * len(locks))})"
        sql = f"SELECT {name}, task_id FROM {self.items_by_lock} WHERE {where} ORDER BY {name} {lock}"
        return dict(self.fetch(sql, locks))

    def _delete_items(self, locks: Sequence[str]) -> None:
        if locks:
            self._delete_by(UniqueItem, "lock", locks, "lock")


class UniqueEnqueuing(Enqueuing, FreeingItems):
    # -- a key for the whole call

    @repeated
    def enqueue_unique(self, calls: Sequence[Call], on_conflict: str, merge: Merge | None = None) -> list[Placed]:
        """Store calls whose unique lock is free, all or none; what becomes of the others ``on_conflict`` says.

        Each call names ``unique_lock`` among its extra columns. ``merge``: for ``"merge"``. Raises DuplicateTask.
        """
        # One call needs no transaction: nearly all are a single statement.
        with self.transaction() if len(calls) > 1 else nullcontext():
            placed: dict[int, Placed] = {}
            looks = 0
            while waiting := [number for number in range(len(calls)) if number not in placed]:
                first = {lock_of(calls[number]): number for number in reversed(waiting)}
                looks += 1
                stored = self._insert_free([calls[number] for number in sorted(first.values())], is_first=looks == 1)
                for lock, enqueued in stored.items():
                    placed[first[lock]] = Placed(*enqueued, calls[first[lock]].args_kwargs)
                if rest := {number: calls[number] for number in waiting if number not in placed}:
                    placed |= self._meet(rest, on_conflict, merge)
            return [placed[number] for number in range(len(calls))]

    def _insert_free(self, calls: Sequence[Call], *, is_first: bool) -> dict[str, Enqueued]:
        """Store those calls whose locks are free; return them by lock. Each has another lock.

        ``is_first``: these calls were not met by others that held their locks and gave them up meanwhile.
        """
        stored = {}
        load = self.load_time
        for start in range(0, len(calls), BATCH):
            sql, params = self._insert_sql(calls[start : start + BATCH])
            sql += " ON CONFLICT (unique_lock) WHERE unique_lock IS NOT NULL DO NOTHING"
            rows = self.fetch(f"{sql} RETURNING id, state, run_after, enqueued_at, unique_lock", params)
            for task_id, state, run_after, enqueued_at, lock in rows:
                stored[lock] = Enqueued(task_id, state, load(run_after), load(enqueued_at))
        return stored

    def _meet(self, calls: Mapping[int, Call], on_conflict: str, merge: Merge | None) -> dict[int, Placed]:
        """Return what becomes of calls whose locks are held; without those whose locks are free by now."""
        changes_holder = on_conflict not in (unique.SKIP, unique.RAISE)
        with self.transaction() if changes_holder else nullcontext():
            holders = self._holders({lock_of(call) for call in calls.values()}, to_change=changes_holder)
            if over := [holder for holder in holders.values() if _is_over(holder)]:
                self._give_up_locks(over)
                holders = {lock: holder for lock, holder in holders.items() if holder not in over}
            met = {number: call for number, call in calls.items() if lock_of(call) in holders}
            if changes_holder:
                return self._change_holders(met, holders, on_conflict, merge)
            if on_conflict == unique.RAISE:
                for call in met.values():
                    raise DuplicateTask(holders[lock_of(call)])
            waiting = {holder.pk for holder in holders.values() if holder.state in WAITING}
            gone = waiting - self._keep_waiting(waiting)
            return {
                number: _placed(holders[lock_of(call)])
                for number, call in met.items()
                if holders[lock_of(call)].pk not in gone
            }

    def _holders(self, locks: Collection[str], *, to_change: bool) -> dict[str, Any]:
        """Return the tasks that hold the locks, each with the database's time ``at``; locked if they may be changed."""
        rows = self._holder_rows(locks).order_by("unique_lock")
        return {row.unique_lock: row for row in (rows.select_for_update() if to_change else rows)}

    def _holder_rows(self, locks: Collection[str]) -> Any:
        return self.tasks.filter(unique_lock__in=locks).annotate(at=self.time(None))

    def _keep_waiting(self, ids: set[int]) -> set[int]:
        """Let nobody start waiting tasks before our transaction has ended; return those that still wait."""
        return ids  # where there is one writer at a time

    @property
    def _in_transaction(self) -> bool:
        return not self.connection.get_autocommit()

    def _give_up_locks(self, holders: Collection[Task]) -> None:
        for holder in holders:
            self.tasks.filter(pk=holder.pk, unique_lock=holder.unique_lock).update(unique_lock=None)

    def _change_holders(
        self, calls: Mapping[int, Call], holders: dict[str, Any], on_conflict: str, merge: Merge | None
    ) -> dict[int, Placed]:
        """Change the locked holders as each call wants it, in order. One that cannot be changed gives its lock up."""
        changed: dict[int, dict[str, Any]] = {}
        met: dict[int, Any] = {}
        given_up = []
        for number, call in calls.items():
            if (holder := holders.get(lock_of(call))) is None:
                continue
            changes = _changes(holder, call, on_conflict, merge) if holder.state in WAITING else None
            if changes is None:
                given_up.append(holders.pop(lock_of(call)))
                continue
            for name, value in changes.items():
                setattr(holder, name, value)
            changed.setdefault(holder.pk, {}).update(changes)
            met[number] = holder
        for task_id, changes in changed.items():
            self.tasks.filter(pk=task_id).update(**changes)
        self._give_up_locks(given_up)
        return {number: _placed(holder) for number, holder in met.items()}

    # -- items of a list, each unique

    @repeated
    def enqueue_items(self, calls: Sequence[Itemised]) -> list[Placed]:
        """Store calls with those of their items that no waiting task holds, all or none, in their order.

        A call of which nothing is left is not stored; the task that holds its first item is returned for it.
        """
        with self.transaction():
            return [self._enqueue_items(each) for each in calls]

    def _enqueue_items(self, each: Itemised) -> Placed:
        [enqueued] = self._insert([each.call])
        holders = self._take_items(enqueued.id, each.locks)
        ours = [place for place, lock in enumerate(each.locks) if holders[lock] == enqueued.id]
        if len(ours) == len(each.locks):
            return Placed(*enqueued, each.call.args_kwargs)
        stored = self.tasks.filter(pk=enqueued.id)
        if ours:
            args_kwargs = each.trimmed(ours)
            stored.update(args_kwargs=Value(args_kwargs, TextField()))
            return Placed(*enqueued, args_kwargs)
        stored._raw_delete(self.alias)  # nobody has seen it
        return _placed(self.tasks.get(pk=holders[each.locks[0]]))

    def _take_items(self, task_id: int, locks: Sequence[str]) -> dict[str, int]:
        """Take the items that are free. Return the ids of the tasks that hold each of them now."""
        holders: dict[str, int] = {}
        looks = 0
        while wanted := sorted(set(locks) - holders.keys()):  # sorted: who wants the same ones waits, no deadlock
            looks += 1
            for start in range(0, len(wanted), ITEMS_BATCH):
                batch = wanted[start : start + ITEMS_BATCH]
                self._insert_items(task_id, batch, is_first=looks == 1)
                # Held until our transaction has ended: their tasks begin after. Without what became free in between.
                holders |= self._locked_items(batch, self.share_lock)
            # An end that freed nothing (a row deleted by SQL) keeps its items from nobody.
            others = set(holders.values()) - {task_id}
            live = set(self.tasks.filter(pk__in=others).exclude(state__in=FINISHED).values_list("pk", flat=True))
            for lock in [lock for lock, holder in holders.items() if holder in others - live]:
                self._items.filter(lock=lock).update(task_id=task_id)
                holders[lock] = task_id
        return holders

    def _insert_items(self, task_id: int, locks: Sequence[str], *, is_first: bool) -> None:
        """Take those of the items that nobody holds. ``is_first``: they were not found held, and then free, before."""
        self._items.bulk_create([UniqueItem(lock=lock, task_id=task_id) for lock in locks], ignore_conflicts=True)

    @repeated
    def free_items(self, task_id: int) -> None:
        """Free what a task holds that is about to begin.

        Waits while a caller who left an item out of his own call for its sake has not committed: what he commits, the
        task shall see. Nothing is locked during that wait.
        """
        while True:
            with self.transaction():
                held = sorted(self._items.filter(task_id=task_id).values_list("lock", flat=True))
                free = self._locked_items(held, self.skip_locked) if held else {}
                if not (busy := {*held} - free.keys()):
                    self._delete_items([name for name, holder in free.items() if holder == task_id])
                    return
            with self.transaction():
                list(self._items.filter(lock=min(busy)).select_for_update())


def lock_of(call: Call) -> str:
    """Return the lock of a unique call."""
    lock: str = dict(call.extra)["unique_lock"]
    return lock


def _placed(holder: Any) -> Placed:
    return Placed(holder.pk, holder.state, holder.run_after, holder.enqueued_at, "", holder)


def _is_over(holder: Any) -> bool:
    """Whether the window is over for which the task holds its lock, by the database's clock."""
    if holder.unique_until != unique.WINDOW:
        return False
    return bool(holder.at >= holder.enqueued_at + timedelta(seconds=holder.unique_seconds or 0))


def _changes(holder: Any, call: Call, on_conflict: str, merge: Merge | None) -> dict[str, Any] | None:
    """Return the new values of a waiting task's columns; None if the call cannot be joined to it."""
    if on_conflict == unique.DEBOUNCE:
        due = holder.at if call.run_after is None else call.run_after
        state = State.SCHEDULED if due > holder.at else turn_of(holder.limit_key)
        return {"run_after": due, "state": state}
    if on_conflict == unique.MERGE:
        both = merge(holder.args_kwargs, call.args_kwargs) if merge else None
        return None if both is None else {"args_kwargs": both}
    metadata = None if call.metadata is None else json.loads(call.metadata)
    changes = {"args_kwargs": json.loads(call.args_kwargs), "metadata": metadata, "priority": call.priority}
    # The limit may be one by an argument, which is another now.
    extra = dict(call.extra)
    changes["state"] = holder.state if holder.state == State.SCHEDULED else call.turn
    return {**changes, "limit_key": extra.get("limit_key"), "terms": extra.get("terms")}
