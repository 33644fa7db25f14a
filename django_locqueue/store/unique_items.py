"""Items of lists that only one waiting task may hold: taken when it is enqueued, free when it starts."""

from collections.abc import Collection, Sequence

from django.db.models import QuerySet, TextField, Value

from django_locqueue.models import FINISHED, UniqueItem
from django_locqueue.store.base import StoreBase, repeated
from django_locqueue.store.enqueue import BATCH, Enqueuing
from django_locqueue.store.values import Itemised, Placed


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
        for start in range(0, len(held), BATCH):
            # Of those that are still theirs: a call may have taken one over meanwhile.
            free = self._locked_items(held[start : start + BATCH], lock or self.skip_locked)
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


class ItemEnqueuing(Enqueuing, FreeingItems):
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
        holder = self.tasks.get(pk=holders[each.locks[0]])
        return Placed(holder.pk, holder.state, holder.run_after, holder.enqueued_at, "", holder)

    def _take_items(self, task_id: int, locks: Sequence[str]) -> dict[str, int]:
        """Take the items that are free. Return the ids of the tasks that hold each of them now."""
        holders: dict[str, int] = {}
        looks = 0
        while wanted := sorted(set(locks) - holders.keys()):  # sorted: who wants the same ones waits, no deadlock
            looks += 1
            for start in range(0, len(wanted), BATCH):
                batch = wanted[start : start + BATCH]
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
