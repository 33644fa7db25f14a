"""Tasks that stand in workflows."""

from typing import Any

from asgiref.sync import sync_to_async

from django_locqueue import Cancel, Unique, task
from tests.tasks import write_ledger


@task(takes_context=True)
def gather(context: Any) -> list[Any]:
    """Return what the step before returned; in the place of an error, its text."""
    return [str(each) if isinstance(each, Exception) else each for each in context.results()]


@task(takes_context=True)
async def gather_async(context: Any) -> list[Any]:
    as_list: Any = list
    return list(await sync_to_async(as_list)(context.results()))


@task(atomic=True)
def double_atomically(number: int) -> int:
    return 2 * number


@task(keep_result=False)
def double_and_forget(number: int) -> int:
    return 2 * number


@task
def cancel_itself() -> None:
    raise Cancel("changed its mind")


@task(takes_context=True)
def note_results(context: Any, ledger: str) -> None:
    for each in context.results():
        write_ledger(ledger, f"result {each}")


@task(unique=Unique("{number}"))
def once(number: int) -> None:
    """No two calls of the same number wait."""
