"""What the commands that change the queue have in common."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from django_locqueue import conf
from django_locqueue.store import Store, get_store


class QueueCommand(BaseCommand):
    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--backend", metavar="ALIAS", help="the entry of TASKS whose database is meant")

    def handle(self, *, backend: str | None, **options: Any) -> None:
        ours = conf.our_backends()
        if backend is not None and backend not in ours:
            raise CommandError(f"TASKS has no backend {backend!r} of ours{conf.did_you_mean(backend, ours)}")
        self.change(get_store(backend), **options)

    def change(self, store: Store, **options: Any) -> None:
        raise NotImplementedError
