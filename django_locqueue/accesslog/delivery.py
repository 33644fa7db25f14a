"""From hits to a task. The one place where the recorder's side meets the queue."""

from collections.abc import Sequence

from django_locqueue.accesslog.hit import Hit
from django_locqueue.accesslog.savepoints import savepoints


def enqueue_hits(hits: Sequence[Hit]) -> None:
    """Enqueue one ``record_hits`` task. Raises what the queue raises, leaving open transactions usable."""
    # Imported late: the tasks need TASKS, and this module is imported with the middlewares.
    from django_locqueue.accesslog.tasks import record_hits

    with savepoints():
        record_hits.enqueue([hit.to_json() for hit in hits])


async def aenqueue_hits(hits: Sequence[Hit]) -> None:
    """``enqueue_hits`` on an event loop, where no transaction can be open."""
    from django_locqueue.accesslog.tasks import record_hits

    await record_hits.aenqueue([hit.to_json() for hit in hits])
