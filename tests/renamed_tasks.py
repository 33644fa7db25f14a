"""Tasks whose functions had other names before."""

from django_locqueue import task


@task(aliases=["tests.renamed_tasks.old_name", "tests.gone_module.old_name"])
def new_name(value: int) -> int:
    return value * 2


@task(aliases=["tests.renamed_tasks.old_async_name"])
async def new_async_name(value: int) -> str:
    return "awaited"


def was_a_task() -> None:
    """No task any more; what was stored under its path runs the one that took its place."""


@task(aliases="tests.renamed_tasks.was_a_task")
def took_its_place(value: int) -> str:
    return "in its place"
