"""What the commands that look at the queue or change it have in common."""

import getpass
import logging
import sys
from contextlib import nullcontext
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from django_locqueue import conf
from django_locqueue.models import Queue
from django_locqueue.observability import framework_log
from django_locqueue.store import Store, get_store


class QueueCommand(BaseCommand):
    chosen: str | None  # the entry of TASKS that --backend names

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--backend", metavar="ALIAS", help="the entry of TASKS whose database is meant")

    def handle(self, *, backend: str | None, **options: Any) -> None:
        ours = conf.our_backends()
        if backend is not None and backend not in ours:
            raise CommandError(f"TASKS has no backend {backend!r} of ours{conf.did_you_mean(backend, ours)}")
        self.chosen = backend
        # A project that listens to all loggers, to report errors for instance, hears of it all the same.
        with nullcontext() if logging.getLogger().handlers else framework_log.left_out():
            self.perform(get_store(backend), **options)

    def note(self, store: Store, verb: str, **what: Any) -> None:
        """Write down what the person has changed; ``what``: as ``Store.record_activity`` takes it."""
        store.record_activity(verb, by=person_name(), source="command", **what)

    def is_confirmed(self, question: str) -> bool:
        """Ask the person who types. Raises CommandError where nobody is there to be asked (cron, a pipe)."""
        if not can_ask():
            raise CommandError("Nobody is there to be asked. If you mean it, add --yes.")
        return input(f"{question}? [y/N] ").strip().lower() in ("y", "yes")

    def perform(self, store: Store, **options: Any) -> None:
        raise NotImplementedError


def person_name() -> str:
    """Return the operating system's name of who types; empty where there is none (a container with a bare user id)."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


def known_queues(store: Store) -> list[str]:
    """Return the names of queues that a worker has served, for whoever may have misspelt one; 200 at most."""
    return list(Queue.objects.using(store.alias).order_by("name").values_list("name", flat=True)[:200])


def can_ask() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()
