"""Items of lists that only one waiting task may hold: taken when it is enqueued, free when it starts."""

from collections.abc import Collection, Sequence

from django.db.models import TextField, Value

from django_locqueue.models import FINISHED, UniqueItem
from django_locqueue.store.base import StoreBase, repeated
from django_locqueue.store.enqueue import BATCH, Enqueuing
from django_locqueue.store.values import Itemised, Placed


class FreeingItems(StoreBase):
    def _free_items_of(self, task_ids: Collection[int]) -> None:
        """Free what tasks hold that end without a run.

        But not what a caller's open transaction holds who has left it out for their sake: an end waits for no caller.
        An item of a task that has ended is kept from nobody, see ``_take_items``, and goes with the task's row.
        """
        items = UniqueItem.objects.using(self.alias)
        free = items.filter(task_id__in=task_ids).order_by("lock").select_for_update(skip_locked=True)
        ids = list(free.values_list("pk", flat=True))
        for start in range(0, len(ids), BATCH):
            items.filter(pk__in=ids[start : start + BATCH])._raw_delete(self.alias)


class ItemEnqueuing(Enqueuing, FreeingItems):
    share_lock = ""  # ends a SELECT whose rows nobody may change before our transaction has ended

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
        items = UniqueItem.objects.using(self.alias)
        holders: dict[str, int] = {}
        while wanted := sorted(set(locks) - holders.keys()):  # sorted: who wants the same ones waits, no deadlock
            for start in range(0, len(wanted), BATCH):
                batch = wanted[start : start + BATCH]
                items.bulk_create([UniqueItem(lock=lock, task_id=task_id) for lock in batch], ignore_conflicts=True)
                holders |= self._item_holders(batch)  # without those that became free in between
            # An end that freed nothing (a row deleted by SQL) keeps its items from nobody.
            others = set(holders.values()) - {task_id}
            live = set(self.tasks.filter(pk__in=others).exclude(state__in=FINISHED).values_list("pk", flat=True))
            for lock in [lock for lock, holder in holders.items() if holder in others - live]:
                items.filter(lock=lock).update(task_id=task_id)
                holders[lock] = task_id
        return holders

    def _item_holders(self, locks: Sequence[str]) -> dict[str, int]:
        """Return who holds the items, and let them be held until our transaction has ended: their tasks begin after."""
        name = self.connection.ops.quote_name("lock")
        marks = ", ".join(["%s"] * len(locks))
        table = UniqueItem._meta.db_table
        rows = self.fetch(
            f"SELECT {name}, task_id FROM {table} WHERE {name} IN ({marks}) ORDER BY {name} {self.share_lock}", [*locks]
        )
        return dict(rows)

    @repeated
    def free_items(self, task_id: int) -> None:
        """Free what a task holds that is about to begin.

        Waits while a caller who left an item out of his own call for its sake has not committed: what he commits, the
        task shall see. Nothing is locked during that wait.
        """
        items = UniqueItem.objects.using(self.alias)
        while True:
            with self.transaction():
                held = set(items.filter(task_id=task_id).values_list("lock", flat=True))
                free = items.filter(task_id=task_id).select_for_update(skip_locked=True)
                busy = held - set(free.values_list("lock", flat=True))
                if not busy:
                    items.filter(task_id=task_id)._raw_delete(self.alias)
                    return
            with self.transaction():
                list(items.filter(lock=min(busy)).select_for_update())
