"""Tasks that end without a run: a waiting one that is cancelled, one that died with its worker.

Their receivers are told as of any other end, after the commit; and a row that its backend does not keep is deleted.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from django.db import transaction
from django.dispatch import receiver

from django_locqueue import compat, registry, signals
from django_locqueue.exceptions import Cancel, DamagedTask, WorkerLost
from django_locqueue.models import FINISHED, State, Task
from django_locqueue.policies.outcome import class_path
from django_locqueue.result import stored_result
from django_locqueue.store import Claimed, Key, Rescued, Store

BATCH = 500

Announce = Callable[[Callable[[], None]], None]


def at_once(tell: Callable[[], None]) -> None:
    """Announce on this thread. A service hands it to the announcer: receivers are user code and may take their time."""
    tell()


announcing: Announce = at_once  # what ended unasked, beside what was written; a worker hands it to its announcer


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


def release(store: Store, tasks: Sequence[Claimed], *, delay: float = 0, announce: Announce = at_once) -> None:
    """Give claimed tasks back unrun. One that was asked to stop meanwhile ends here."""
    written = store.release(tasks, delay=delay)
    if ended := [task_id for (task_id, _), state in written.items() if state == State.CANCELLED]:
        announce(partial(announce_ended, store, ended))


def rescue(
    store: Store,
    *,
    max_crashes: int,
    thorough: bool = True,
    now: datetime | None = None,
    announce: Announce = at_once,
) -> list[Rescued]:
    """Take back the tasks of dead workers. ``max_crashes``: for tasks whose backend is gone from ``TASKS``."""
    rescued = store.rescue(max_crashes=max_crashes, by_backend=registry.crash_limits(), thorough=thorough, now=now)
    if rescued:
        announce(partial(announce_rescued, store, rescued))
    return rescued


def give_up_worker(store: Store, worker_id: int, *, begun: Collection[Key], max_crashes: int) -> list[Rescued]:
    """Take back at once what a worker had whose death was seen; see ``Store.give_up_worker``."""
    rescued = store.give_up_worker(worker_id, begun=begun, max_crashes=max_crashes, by_backend=registry.crash_limits())
    announce_rescued(store, rescued)
    return rescued


def set_aside(store: Store, *, announce: Announce = at_once) -> list[int]:
    """Fail the ready tasks whose rows cannot be claimed, see ``Store.set_aside``. Return their ids."""
    if ids := store.set_aside():
        announce(partial(announce_ended, store, ids))
    return ids


def announce_rescued(store: Store, rescued: Iterable[Rescued]) -> None:
    """Send ``task_rescued`` for each, and ``task_finished`` for those that the rescue ended."""
    rescued = list(rescued)
    for task in rescued:
        signals.task_rescued.send_robust(
            _sender(task.backend_alias),
            task_id=task.id,
            worker_name=task.worker_name,
            state=task.state,
            crashes=task.crashes,
        )
    announce_ended(store, [task.id for task in rescued if task.state in FINISHED])


def announce_ended(store: Store, ids: Sequence[int]) -> None:
    """Send ``task_finished`` for tasks that a verb of the store has just failed or cancelled."""
    for start in range(0, len(ids), BATCH):
        # As they are now: one that a person has put back meanwhile has not ended.
        rows = list(store.tasks.filter(pk__in=ids[start : start + BATCH], state__in=(State.FAILED, State.CANCELLED)))
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


def _exception(row: Task) -> BaseException:
    if row.state == State.CANCELLED:
        return Cancel(row.error_message)
    return (DamagedTask if row.error_class == class_path(DamagedTask) else WorkerLost)(row.error_message)


def _backend(alias: str) -> Any | None:
    """Return the backend of this alias, or the first of ours: a row outlives the settings."""
    return registry.our_backend(alias) or next(iter(registry.our_backends()), None)


def _sender(alias: str) -> Any:
    backend = _backend(alias)
    return None if backend is None else type(backend)


def _is_kept(row: Task) -> bool:
    backend = _backend(row.backend_alias)
    # A workflow's tasks stay until it has ended; then they are pruned.
    return backend is None or row.workflow_id is not None or row.state not in backend.forgotten
