"""``manage.py queue_doctor``: what makes the queue slow or stuck, and the cure: bloat, old transactions, drift."""

import json
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import Error

from django_locqueue.management.doctor import Finding, schema, workers
from django_locqueue.management.queue_command import QueueCommand
from django_locqueue.observability.snapshot import snapshot
from django_locqueue.observability.verdict import Level, unreadable
from django_locqueue.store import Store


class Command(QueueCommand):
    help = "Looks for what makes a queue slow or stuck, and says what to do. Exits with 1 if there is anything."
    requires_system_checks = ()  # some ask the database, which may be what is ill

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--json", action="store_true", help="one object, for programs")

    def perform(self, store: Store, **options: Any) -> None:
        try:
            found = list(examine(store))
        except Error as error:
            [problem] = unreadable(error).problems
            raise CommandError(problem, returncode=Level.UNKNOWN.code) from error
        if options["json"]:
            self.stdout.write(json.dumps({"database": store.alias, "findings": [each._asdict() for each in found]}))
        else:
            self._say(store, found)
        if not all(each.is_well for each in found):
            sys.exit(1)

    def _say(self, store: Store, found: list[Finding]) -> None:
        self.stdout.write(f"Database {store.alias} ({store.connection.display_name})")
        places = max(len(each.name) for each in found)
        for each in found:
            mark = self.style.SUCCESS("ok     ") if each.is_well else self.style.WARNING("PROBLEM")
            self.stdout.write(f"  {mark}  {each.name:<{places}}  {each.problem or each.facts}")
            if each.cure:
                self.stdout.write(f"           {'':<{places}}  -> {each.cure}")
        count = sum(not each.is_well for each in found)
        self.stdout.write(f"{count} problem{'' if count == 1 else 's'}." if count else "Nothing is wrong.")


def examine(store: Store) -> Iterator[Finding]:
    """Look at all there is; what needs the tables is left out where they are not those of this code."""
    of_schema = list(schema.look(store.alias))
    yield from of_schema
    vendor: Callable[[Store], Iterator[Finding]]
    vendor = import_module(f"django_locqueue.management.doctor.{store.connection.vendor}").look
    yield from vendor(store)
    if of_schema[0].is_well and of_schema[1].is_well:
        yield from workers.look(snapshot(fresh=True, database=store.alias))
