"""What waits for the commits of this thread."""

from collections.abc import Callable
from functools import partial

from django.db import connections, transaction


def after_commits(act: Callable[[], object]) -> None:
    """Call ``act`` when every transaction that is open in this thread has committed; at once if there is none.

    Where one of them rolls back, it is not called.
    """
    uncommitted = {each.alias for each in connections.all(initialized_only=True) if each.in_atomic_block}
    if not uncommitted:
        act()

    def committed(alias: str) -> None:
        uncommitted.discard(alias)
        if not uncommitted:
            act()

    for alias in sorted(uncommitted):
        transaction.on_commit(partial(committed, alias), using=alias)
