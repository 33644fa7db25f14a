"""From hits to where they go: a task, or the log. The one place where the recorder's side meets the queue."""

import json
import logging
from collections.abc import Sequence
from typing import Any

from django_locqueue.accesslog.conf import access_log
from django_locqueue.accesslog.hit import Hit
from django_locqueue.accesslog.savepoints import savepoints

HITS_LOGGER = "django_locqueue.accesslog.hits"


def deliver(hits: Sequence[Hit]) -> None:
    """Bring the hits where ``BACKEND`` says. Raises what the queue raises."""
    if access_log.BACKEND == "logging":
        log_hits(hits)
    else:
        enqueue_hits(hits)


async def adeliver(hits: Sequence[Hit]) -> None:
    """Enqueue the hits on an event loop, where no transaction can be open; only ``BACKEND = "sync"`` does."""
    from django_locqueue.accesslog.tasks import record_hits

    await record_hits.aenqueue(private_hits=[hit.to_json() for hit in hits])


def deliver_loss(**loss: Any) -> None:
    """Enqueue a report of ``LossReport``, where the hits are enqueued too. Raises what the queue raises."""
    if access_log.BACKEND == "logging":
        return  # the warnings are in the same log
    from django_locqueue.accesslog.losses import record_loss

    record_loss.enqueue(**loss)


def enqueue_hits(hits: Sequence[Hit]) -> None:
    """Enqueue one ``record_hits`` task. Raises what the queue raises, leaving open transactions usable."""
    # Imported late: the tasks need TASKS, and this module is imported with the middlewares.
    from django_locqueue.accesslog.tasks import record_hits

    with savepoints():
        record_hits.enqueue(private_hits=[hit.to_json() for hit in hits])


def log_hits(hits: Sequence[Hit]) -> None:
    """Log a JSON object for each hit, one line of ASCII."""
    logger = logging.getLogger(HITS_LOGGER)
    for hit in hits:
        logger.info(json.dumps(dict(zip(Hit._fields, hit.to_json(), strict=True))))
