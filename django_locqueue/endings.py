"""Tasks that end without a run: a waiting one that is cancelled, one that died with its worker.

Their receivers are told as of any other end, after the commit; they are counted then; and a row that its backend does
not keep is deleted.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from django.db import Error, transaction
from django.dispatch import receiver

from django_locqueue import clock, compat, registry, signals
from django_locqueue.exceptions import Cancel, DamagedTask, WorkerLost
from django_locqueue.models import FINISHED, State, Task
from django_locqueue.policies.fingerprint import kind_of
from django_locqueue.policies.outcome import class_path
from django_locqueue.result import stored_result
from django_locqueue.store import Claimed, EndCounts, Key, Rescued, Store
from django_locqueue.store.end_counts import CANCELLED, FAILED, RETRIED, Failures
from django_locqueue.store.recover import LOST

logger = logging.getLogger("django_locqueue")

BATCH = 500

Announce = Callable[[Callable[[], None]], None]
Count = Callable[[Store, EndCounts], None]


def at_once(tell: Callable[[], None]) -> None:
    """Announce on this thread. A service hands it to the announcer: receivers are user code and may take their time."""
    tell()


def count_at_once(store: Store, counts: EndCounts) -> None:
    """Add to the database's counts on this thread. They are not worth that what was done should fail."""
    try:
        store.add_end_counts(counts)
    except Error:
        logger.warning("What has ended could not be counted.", exc_info=True)


announcing: Announce = at_once  # what ended unasked, beside what was written; a worker hands it to its announcer
counting: Count = count_at_once  # a worker hands it to its bookkeeper: a count may be locked for long


def cancel(
    store: Store, ids: Sequence[int], reason: str = "", *, by: str = "", only_retrying: bool = False
) -> tuple[list[int], list[int]]:
    """Cancel waiting tasks at once and ask running ones to stop. Return the ids of both."""
    cancelled, asked = store.cancel(ids, reason, by=by, only_retrying=only_retrying)
    announce_ended(store, cancelled)
    return cancelled, asked


def put_back(store: Store, ids: Sequence[int]) -> list[int]:
    """Take tasks back whose workers do not answer; see ``Store.put_back``. Return their ids."""
    rescued = store.put_back(ids)
    announce_rescued(store, rescued)
    return [task.id for task in rescued]


def cancel_workflow(store: Store, workflow_id: int, reason: str = "", *, by: str = "") -> tuple[list[int], list[int]]:
    """Cancel what waits of a workflow, and ask what runs of it to stop. Return the ids of both."""
    cancelled, asked = store.cancel_workflow(workflow_id, reason, by=by)
    announce_ended(store, cancelled)
    return cancelled, asked


def release(store: Store, tasks: Sequence[Claimed], *, announce: Announce = at_once) -> None:
    """Give claimed tasks back unrun. One that was asked to stop meanwhile ends here."""
    written = store.release(tasks)
    if ended := [task_id for (task_id, _), state in written.items() if state == State.CANCELLED]:
        announce(partial(announce_ended, store, ended))


def rescue(
    store: Store,
    *,
    max_crashes: int,
    thorough: bool = True,
    now: datetime | None = None,
) -> list[Rescued]:
    """Take back the tasks of dead workers. ``max_crashes``: for tasks whose backend is gone from ``TASKS``."""
    rescued = store.rescue(max_crashes=max_crashes, by_backend=registry.crash_limits(), thorough=thorough, now=now)
    if rescued:
        announcing(partial(announce_rescued, store, rescued))
    return rescued


def give_up_worker(store: Store, worker_id: int, *, begun: Collection[Key], max_crashes: int) -> list[Rescued]:
    """Take back at once what a worker had whose death was seen; see ``Store.give_up_worker``."""
    rescued = store.give_up_worker(worker_id, begun=begun, max_crashes=max_crashes, by_backend=registry.crash_limits())
    announce_rescued(store, rescued)
    return rescued


def set_aside(store: Store) -> list[int]:
    """Fail the ready tasks whose rows cannot be claimed, see ``Store.set_aside``. Return their ids."""
    if ids := store.set_aside():
        announcing(partial(announce_ended, store, ids))
    return ids


def announce_rescued(store: Store, rescued: Iterable[Rescued]) -> None:
    """Send ``task_rescued`` for each, and ``task_finished`` for those that the rescue ended."""
    rescued = list(rescued)
    _count(store, _counts_of_rescued(rescued))
    transaction.on_commit(partial(_send_rescued, rescued), using=store.alias)
    announce_ended(store, [task.id for task in rescued if task.state in FINISHED], counted=True)


def _send_rescued(rescued: Sequence[Rescued]) -> None:
    for task in rescued:
        signals.task_rescued.send_robust(
            _sender(task.backend_alias),
            task_id=task.id,
            worker_name=task.worker_name,
            state=task.state,
            crashes=task.crashes,
        )


def announce_ended(store: Store, ids: Sequence[int], *, counted: bool = False) -> None:
    """Send ``task_finished`` for tasks that a verb of the store has just failed or cancelled, and count them."""
    for start in range(0, len(ids), BATCH):
        # As they are now: one that a person has put back meanwhile has not ended.
        rows = list(store.tasks.filter(pk__in=ids[start : start + BATCH], state__in=(State.FAILED, State.CANCELLED)))
        if not counted:
            _count(store, _counts_of(rows))
        endings = [(_sender(row.backend_alias), stored_result(row), _exception(row)) for row in rows]
        if unwanted := [row.pk for row in rows if not _is_kept(row)]:
            store.delete(unwanted)
        # What is rolled back has not happened.
        transaction.on_commit(partial(_send, endings), using=store.alias)


@receiver(signals.tasks_skipped)
def _announce_skipped(sender: Any, store: Store, ids: Sequence[int], **kwargs: Any) -> None:
    announcing(partial(announce_ended, store, ids))


def send_finished(sender: Any, result: Any, exception: BaseException | None) -> None:
    """Send Django's ``task_finished`` as its own backends do: with the exception at hand (``sys.exc_info()``)."""
    if exception is None:
        compat.task_finished.send_robust(sender, task_result=result)
        return
    try:
        raise exception
    except BaseException:
        compat.task_finished.send_robust(sender, task_result=result)


def _send(endings: list[tuple[Any, Any, BaseException]]) -> None:
    for sender, result, exception in endings:
        send_finished(sender, result, exception)


def _count(store: Store, counts: EndCounts) -> None:
    if counts:
        transaction.on_commit(partial(counting, store, counts), using=store.alias)


def _counts_of(rows: Iterable[Task]) -> EndCounts:
    counts = EndCounts()
    for row in rows:
        if row.finished_at is None:  # edited by hand
            continue
        at, is_failed = clock.timestamp(row.finished_at), row.state == State.FAILED
        counts.add_one(at, row.queue_name, row.task_path, FAILED if is_failed else CANCELLED)
        if is_failed:
            kind = kind_of(row.error_class, row.error_message, None)
            counts.add_failures(Failures(kind, at, at, 1, row.task_path, None))
    return counts


def _counts_of_rescued(rescued: Iterable[Rescued]) -> EndCounts:
    counts = EndCounts()
    for task in rescued:
        at = clock.timestamp(task.at)
        counts.add_one(at, task.queue_name, task.task_path, _COLUMNS.get(task.state, RETRIED))
        if task.state != State.CANCELLED:
            counts.add_failures(Failures(LOST, at, at, 1, task.task_path, None))
    return counts


_COLUMNS: dict[str, int] = {State.FAILED: FAILED, State.CANCELLED: CANCELLED}


def _exception(row: Task) -> BaseException:
    if row.state == State.CANCELLED:
        return Cancel(row.error_message)
    return (DamagedTask if row.error_class == class_path(DamagedTask) else WorkerLost)(row.error_message)


def _sender(alias: str) -> Any:
    backend = registry.backend_or_first(alias)
    return None if backend is None else type(backend)


def _is_kept(row: Task) -> bool:
    backend = registry.backend_or_first(row.backend_alias)
    # A workflow's tasks stay until it has ended; then they are pruned.
    return backend is None or row.workflow_id is not None or row.state not in backend.forgotten
