"""How a command is told which tasks are meant: as the address of a page is."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from django_locqueue.conf import closest
from django_locqueue.management.queue_command import known_queues
from django_locqueue.models.listing import LISTINGS
from django_locqueue.policies import legible
from django_locqueue.store import Store
from django_locqueue.store.selection import Selection

KEYS = (
    "listing",
    "queue",
    "task",
    "worker",
    "error",
    "group",
    "limit",
    "state",
    "priority",
    "since",
    "until",
    "last",
    "due",
    "by_hand",
    "workflow",
    "q",
)


def add_filter(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--filter",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        help=f"which tasks, as pages have it: queue=mail error=ConnectionError last=24h; keys: {', '.join(KEYS)}; "
        f"listings: {', '.join(LISTINGS)}",
    )


def selection_of(store: Store, terms: list[str], *, listing: str = "") -> Selection:
    """Return what ``--filter`` means. ``listing``: where it names none. Raises CommandError."""
    query: dict[str, str] = {}
    for term in terms:
        key, is_pair, value = term.partition("=")
        if not is_pair or not value:
            raise CommandError(f"--filter takes KEY=VALUE, such as queue=mail; got {term!r}.")
        if key not in KEYS:
            close = closest(key, KEYS)
            meant = f" Did you mean {close!r}?" if close else f" Known keys: {', '.join(KEYS)}."
            raise CommandError(f"--filter does not know {key!r}.{meant}")
        query[key] = value
    query.setdefault("listing", listing)
    if not query["listing"]:
        raise CommandError(f"Say which tasks: --filter listing=… Known listings: {', '.join(LISTINGS)}.")
    try:
        return Selection.from_query(query, now=store.now)
    except ValueError as error:
        raise CommandError(f"--filter: {error}") from error


def no_match(store: Store, selection: Selection) -> str:
    """Return the sentence for a selection that finds nothing, with what may be misspelt in it."""
    known = known_queues(store)
    if selection.queue and known and selection.queue not in known:
        names = ", ".join(map(legible.line, known))
        return f"No task matches: queue “{legible.line(selection.queue)}” does not exist. Known queues: {names}."
    return f"No task matches: {legible.line(described(selection))}"


def described(selection: Selection) -> str:
    """Return a selection as a person could type it: ``failed, queue=mail``."""
    stored: dict[str, Any] = selection.as_json()
    listing = stored.pop("listing")
    if (answer := stored.pop("retried_by_hand", None)) is not None:
        stored["by_hand"] = "yes" if answer else "no"
    if words := stored.pop("search", ""):
        stored["q"] = words
    return ", ".join([listing, *(f"{key}={value}" for key, value in stored.items())])
