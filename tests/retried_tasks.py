"""Tasks that are tried again, or that say themselves how they end."""

import sys
from pathlib import Path
from typing import Any

from django_locqueue import Cancel, Retry, Snooze, task
from tests.tasks import write_ledger


@task(max_attempts=3, backoff=0)
def fail_until(ledger: str, attempts: int) -> int:
    """Fail until it was tried that often; the ledger counts, whatever is rolled back."""
    write_ledger(ledger, "try")
    tries = len(Path(ledger).read_text().splitlines())
    if tries < attempts:
        raise OSError(f"try {tries}")
    return tries


def broken_backoff(error: BaseException, result: Any) -> float:
    raise RuntimeError("the backoff function is broken")


@task(max_attempts=2, backoff=lambda error, result: 30.0)
def fail_and_wait_30() -> None:
    raise OSError("try again")


@task(max_attempts=2, backoff=broken_backoff)
def fail_with_broken_backoff() -> None:
    raise OSError("try again")


@task(max_attempts=2, backoff=lambda error, result: None)  # type: ignore[arg-type,return-value]
def fail_and_wait_none() -> None:
    raise OSError("try again")


@task(max_attempts=2, backoff=lambda error, result: -5.0)
def fail_and_wait_negative() -> None:
    raise OSError("try again")


@task(max_attempts=2, backoff=lambda error, result: float("inf"))
def fail_and_wait_for_ever() -> None:
    raise OSError("try again")


@task(max_attempts=2, backoff=lambda error, result: float("nan"))
def fail_and_wait_nan() -> None:
    raise OSError("try again")


@task(max_attempts=2, backoff=lambda error, result: sys.exit(1))
def fail_with_exiting_backoff() -> None:
    raise OSError("try again")


@task(max_attempts=2, backoff={"BASE": 100, "JITTER": 0})
def fail_and_wait_by_dict() -> None:
    raise OSError("try again")


@task(max_attempts=5, retry_on=(OSError,))
def fail_with(name: str) -> None:
    raise {"OSError": OSError, "FileNotFoundError": FileNotFoundError, "ValueError": ValueError}[name](name)


@task(max_attempts=5)
def ask_for_retry(after: Any = None) -> None:
    raise Retry(after=after)


@task
def snooze(seconds: Any) -> None:
    raise Snooze(seconds)


@task
def give_up(reason: str = "not wanted any more") -> None:
    raise Cancel(reason)
