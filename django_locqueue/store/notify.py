"""NOTIFY tells listening workers that there is something to do. Polling finds it without: this only makes it sooner."""

import logging
import time
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from django.db import transaction

from django_locqueue import conf
from django_locqueue.models import STARTABLE, BulkOperation, State
from django_locqueue.policies.outcome import Outcome
from django_locqueue.policies.unique import DEBOUNCE, REPLACE
from django_locqueue.store.recover import SOON_SECONDS, Rescued
from django_locqueue.store.store import Store
from django_locqueue.store.unique import Merge
from django_locqueue.store.values import Call, Claimed, Enqueued, Itemised, Key, Placed

T = TypeVar("T")

logger = logging.getLogger("django_locqueue.store")

CHANNEL = "locqueue"  # the payload is the queue's name
ANY = ""  # payload: look at everything, also at what is due soon
LIMITED = "\t"  # begins a payload: a task of that queue waits for its turn under a limit. No queue's name has a tab
LISTENER = "locqueue listener"  # application_name of the connections that listen

# NOTIFY takes one lock for the whole server until its transaction has ended. In each INSERT it would queue up their
# commits (four threads enqueued 7,100 tasks/s, with it 4,000). So it is a statement of its own after the commit, and
# not more often than this for each queue; who was told looks twice, the second time when this time is over.
WINDOW_SECONDS = 0.01
LOOK_SECONDS = 1.0  # how often it is asked whether anybody still listens
SILENT_SECONDS = 0.1  # nothing is sent to nobody; for so long a worker that has begun to listen is not told
FAILED_SECONDS = 60.0  # nothing is sent after a failure
MOST_NAMES = 1000  # queues whose windows are remembered

_NOTIFY = "SELECT pg_notify(%s, payload) FROM unnest(%s::text[]) AS payload"
# The function and not the view pg_stat_activity, which joins two catalogues for columns that nobody asked for. Any role
# may see the name. A pooler can append the client's address to it.
_LOOK = "SELECT EXISTS (SELECT FROM pg_stat_get_activity(NULL) WHERE starts_with(application_name, %s))"
_NOTIFY_AND_LOOK = f"SELECT pg_notify(%s, payload), ({_LOOK}) FROM unnest(%s::text[]) AS payload"


class Notifying(Store):
    """Tells workers after each verb that makes a task ready, when its transaction has committed."""

    def __init__(self, alias: str) -> None:
        super().__init__(alias)
        self.notifier = Notifier(self)

    def enqueue(self, call: Call) -> Enqueued:
        enqueued = super().enqueue(call)
        if (payload := _payload(call, enqueued)) is not None:
            self.notifier.tell({payload})
        return enqueued

    def enqueue_many(self, calls: Sequence[Call]) -> list[Enqueued]:
        stored = super().enqueue_many(calls)
        payloads = (_payload(*each) for each in zip(calls, stored, strict=True))
        self.notifier.tell({payload for payload in payloads if payload is not None})
        return stored

    def enqueue_unique(self, calls: Sequence[Call], on_conflict: str, merge: Merge | None = None) -> list[Placed]:
        placed = super().enqueue_unique(calls, on_conflict, merge)
        self._tell_placed(calls, placed)
        if on_conflict == DEBOUNCE:
            self._tell_any(any(each.holder is not None for each in placed))
        elif on_conflict == REPLACE:  # it may wait under another limit now, which has room
            self._tell_any(any(each.holder is not None and each.holder.limit_key is not None for each in placed))
        return placed

    def enqueue_items(self, calls: Sequence[Itemised]) -> list[Placed]:
        placed = super().enqueue_items(calls)
        self._tell_placed([each.call for each in calls], placed)
        return placed

    def _tell_placed(self, calls: Sequence[Call], placed: Sequence[Placed]) -> None:
        new = zip(calls, placed, strict=True)
        payloads = (_payload(call, each) for call, each in new if each.holder is None)
        self.notifier.tell({payload for payload in payloads if payload is not None})

    def ack(self, ended: Sequence[tuple[Claimed, Outcome]], *, now: datetime | None = None) -> dict[Key, State]:
        written = super().ack(ended, now=now)
        if again := {
            _news(task.queue_name, written[task.key]) for task, _ in ended if written.get(task.key) in STARTABLE
        }:
            self.notifier.tell(again)
        return written

    def promote(self, **options: Any) -> int:
        promoted = super().promote(**options)
        return self._tell_any(promoted)

    def rescue(self, **options: Any) -> list[Rescued]:
        return self._tell_any(super().rescue(**options))

    def requeue(self, ids: Sequence[int], **options: Any) -> list[int]:
        return self._tell_any(super().requeue(ids, **options))

    def run_now(self, ids: Sequence[int], **options: Any) -> list[int]:
        return self._tell_any(super().run_now(ids, **options))

    def change_time(self, ids: Sequence[int], run_after: datetime, **options: Any) -> list[int]:
        return self._tell_any(super().change_time(ids, run_after, **options))

    def move(self, ids: Sequence[int], queue_name: str) -> list[int]:
        return self._tell_any(super().move(ids, queue_name))

    def put_back(self, ids: Sequence[int], **options: Any) -> list[Rescued]:
        return self._tell_any(super().put_back(ids, **options))

    def add_bulk(self, *args: Any, **options: Any) -> BulkOperation:
        return self._tell_any(super().add_bulk(*args, **options))

    def resume(self, queue_name: str, **options: Any) -> bool:
        return self._tell_any(super().resume(queue_name, **options))

    def resume_rate(self, key: str, **options: Any) -> bool:
        return self._tell_any(super().resume_rate(key, **options))

    def _tell_turn(self) -> None:
        self.notifier.tell({ANY})

    def _tell_any(self, changed: T) -> T:
        if changed:
            self.notifier.tell({ANY})
        return changed

    # -- for who listens

    def ping(self, channel: str) -> None:
        """Notify a channel by the ordinary way, on a connection that does not listen."""
        self.fetch("SELECT pg_notify(%s, '')", [channel])

    def listening_connection(self) -> Any:
        """Return a new connection of the same settings, closed yet: outside ``connections`` and outside any pool."""
        connection = self.connection.copy()
        options = {key: value for key, value in connection.settings_dict["OPTIONS"].items() if key != "pool"}
        connection.settings_dict["AUTOCOMMIT"] = True
        connection.settings_dict["OPTIONS"] = {**options, "application_name": LISTENER}
        return connection


def _payload(call: Call, enqueued: Enqueued | Placed) -> str | None:
    """Return whom to tell. Of what is due later nobody has to hear: maintenance looks each SOON_SECONDS."""
    if enqueued.state in STARTABLE:
        return _news(call.queue_name, enqueued.state)
    return ANY if enqueued.run_after - enqueued.enqueued_at < _SOON else None


def _news(queue_name: str, state: str) -> str:
    return queue_name if state == State.READY else f"{LIMITED}{queue_name}"


_SOON = timedelta(seconds=SOON_SECONDS)


class Notifier:
    """Sends, at most one notification for each queue and window of this process. Never raises."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._quiet_until: dict[str, float] = {}
        self._silent_until = 0.0
        self._look_at = 0.0

    def tell(self, payloads: Collection[str]) -> None:
        """Notify of queues (or ANY) after the caller's transaction, or now if there is none."""
        if not payloads:
            return
        connection = self.store.connection
        if connection.in_atomic_block:
            transaction.on_commit(partial(self.send, payloads), using=self.store.alias, robust=True)
        elif connection.autocommit:  # else the caller commits by hand, and nobody knows when
            self.send(payloads)

    def send(self, payloads: Collection[str]) -> None:
        now = time.monotonic()
        if now < self._silent_until:
            return
        wanted = [payload for payload in payloads if now >= self._quiet_until.get(payload, 0.0)]
        # A test runs what waits for the commit inside its own transaction, which is never committed.
        if not wanted or not conf.worker.LISTEN or self.store.connection.in_atomic_block:
            return
        if len(self._quiet_until) > MOST_NAMES:
            self._quiet_until.clear()
        self._quiet_until.update(dict.fromkeys(wanted, now + WINDOW_SECONDS))
        try:
            if now < self._look_at:
                self.store.fetch(_NOTIFY, [CHANNEL, wanted])
            else:
                self._look_at = now + LOOK_SECONDS
                if not self.store.fetch(_NOTIFY_AND_LOOK, [CHANNEL, LISTENER, wanted])[0][1]:
                    self._silent_until = self._look_at = now + SILENT_SECONDS
        except Exception as error:
            self._silent_until = now + FAILED_SECONDS
            logger.warning("Workers could not be told of new tasks; they find them by polling. %s", error)
