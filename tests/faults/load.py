"""The tasks that the workers run under faults, and the ledgers of what was enqueued, begun and ended."""

import os
import threading
from pathlib import Path
from typing import Any, NamedTuple

from django.db.models import F

from django_locqueue import task
from testproject.shop.models import Product
from tests.tasks import write_ledger


class Run(NamedTuple):
    """One line of the ledger of runs."""

    word: str  # began, ended
    task_id: int
    claim_no: int
    pid: int


def runs(ledger: Path) -> list[Run]:
    lines = [line.split() for line in ledger.read_text().splitlines()] if ledger.exists() else []
    return [Run(word, int(task_id), int(claim_no), int(pid)) for word, task_id, claim_no, pid in lines]


@task(takes_context=True)
def work(context: Any, ledger: str, seconds: float) -> int:
    """Return the claim number, so that the row says which run's outcome it has."""
    claimed = context.execution.claimed
    write_ledger(ledger, f"began {claimed.id} {claimed.claim_no} {os.getpid()}")
    threading.Event().wait(seconds)  # not sleep, which libfaketime breaks
    write_ledger(ledger, f"ended {claimed.id} {claimed.claim_no} {os.getpid()}")
    return int(claimed.claim_no)


@task(atomic=True)
def add_one(pk: int) -> None:
    Product.objects.filter(pk=pk).update(price=F("price") + 1)
