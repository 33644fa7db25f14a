"""Tasks that write to the log."""

import logging
import threading
from typing import Any

from asgiref.sync import sync_to_async

from django_locqueue import task

logger = logging.getLogger("shop.tasks")
gate = threading.Event()


class Unspeakable:
    def __str__(self) -> str:
        raise OSError("no words")


@task
def write(*messages: str) -> None:
    for message in messages:
        logger.info(message)


@task
def write_and_wait() -> None:
    logger.info("half of it")
    gate.wait(20)


@task(max_attempts=2, backoff=0, takes_context=True)
def write_and_fail(context: Any) -> None:
    logger.warning("try %d", context.attempt)
    if context.attempt == 1:
        raise OSError("away")


@task(atomic=True)
def write_atomically() -> None:
    logger.info("within")


@task
def write_what_it_caught() -> None:
    try:
        raise OSError("away")
    except OSError:
        logger.exception("Asked in vain.")


@task
def write_badly() -> None:
    logger.info("%d of %d", "one")
    logger.info(Unspeakable())
    logger.debug("SELECT 1")
    logger.info("a\0\ud835b %s", "x" * 600)


@task
async def write_async(name: str) -> None:
    logger.info("loop %s", name)
    await sync_to_async(logger.info)("thread %s", name)


@task(chunk=10)
def write_in_a_chunk(calls: list[Any]) -> list[None]:
    logger.info("of many")
    return [None for _ in calls]
