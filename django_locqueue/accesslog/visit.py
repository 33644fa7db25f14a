"""The request that is being answered: what its hit and the tasks that it enqueues share."""

from collections.abc import Iterable, Mapping
from itertools import islice

from django_locqueue import current_origin
from django_locqueue.accesslog.conf import access_log
from django_locqueue.accesslog.hit import MAX_TASKS, new_id

REQUEST_ID = "request_id"  # in the metadata of a task: the id of the hit of the request that enqueued it


class Visit:
    """The origin of what is enqueued in a request.

    Most requests enqueue nothing: making one costs as good as nothing, and the id is made when somebody asks.
    """

    task_ids: tuple[int, ...] = ()  # the first MAX_TASKS
    # Set when the request is answered: what it started has a copy of its context, and may go on as long as the process.
    over = False

    @property
    def id(self) -> str:
        """The id of the request's hit."""
        # The request and the recorder's thread may ask at once: one id remains.
        made: str = self.__dict__.get("made") or self.__dict__.setdefault("made", new_id())
        return made

    @property
    def metadata(self) -> Mapping[str, str]:
        return {REQUEST_ID: self.id} if access_log.ENABLED and not self.over else {}

    def enqueued(self, ids: Iterable[int]) -> None:
        if not self.over and len(self.task_ids) < MAX_TASKS:
            self.task_ids = (*self.task_ids, *islice(ids, MAX_TASKS - len(self.task_ids)))


def request_id() -> str | None:
    """Return the id of the request that is being answered, for logs and headers of your own; None outside of one.

    Its hit has it as ``hit_id``, and the tasks that it enqueues as ``request_id`` in their metadata.
    """
    origin = current_origin.get()
    return origin.id if isinstance(origin, Visit) and not origin.over else None
