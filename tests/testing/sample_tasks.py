"""Tasks that a drain meets."""

from typing import Any

from django.contrib.auth.models import Group
from django.db import connection, transaction

from django_locqueue import Snooze, task

ran: list[Any] = []  # a test empties it first


@task
def note(value: Any) -> None:
    ran.append(value)


@task
def enqueue_another(left: int) -> None:
    ran.append(left)
    if left:
        enqueue_another.enqueue(left - 1)


@task
def enqueue_for_ever() -> None:
    enqueue_for_ever.enqueue()


@task(max_attempts=3, backoff=60)
def fail_twice(name: str) -> int:
    """Counted by rows, which the test's transaction holds."""
    Group.objects.create(name=f"{name} {Group.objects.count()}")
    if Group.objects.count() < 3:
        raise OSError("not yet")
    return Group.objects.count()


@task(takes_context=True)
def snooze_once(context: Any) -> str:
    if len(ran) == 0:
        ran.append("snoozed")
        raise Snooze(3600)
    return "awake"


@task
def break_a_statement() -> None:
    """What PostgreSQL answers by refusing all that follows in the transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT no_such_column FROM auth_group")


@task
def break_a_constraint(name: str) -> None:
    Group.objects.create(name=name)
    Group.objects.create(name=name)


@task
def note_on_commit(value: Any) -> None:
    transaction.on_commit(lambda: ran.append(value))


@task
def open_durable_block() -> str:
    with transaction.atomic(durable=True):
        return "opened"


@task
async def count_groups_async() -> int:
    return await Group.objects.acount()


@task(timeout=0.05)
def spin() -> None:
    while True:
        pass


@task(takes_context=True, timeout=30)
def tell_context(context: Any) -> dict[str, Any]:
    context.check()
    return {
        "attempt": context.attempt,
        "metadata": context.metadata,
        "should_stop": context.should_stop,
        "has_deadline": context.deadline is not None,
    }


@task(atomic=True)
def create_and_fail(name: str) -> None:
    Group.objects.create(name=name)
    raise ValueError("rolled back")


@task(concurrency=1, concurrency_key="shop-{shop}")
def note_in_order(shop: str, value: Any) -> None:
    ran.append(value)


@task(rate_limit="1/m", rate_key="amap")
def note_at_a_rate(value: Any) -> None:
    ran.append(value)


@task(chunk=3, chunk_wait=30)
def note_many(calls: list[Any]) -> list[Any]:
    ran.append([call.args[0] for call in calls])
    return [ValueError("odd") if call.args[0] % 2 else call.args[0] for call in calls]
