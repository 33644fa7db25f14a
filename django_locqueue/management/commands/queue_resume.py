"""``manage.py queue_resume mail``: workers start the queue's tasks again."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from django_locqueue.management.queue_command import QueueCommand
from django_locqueue.store import Store


class Command(QueueCommand):
    help = "Ends the pause of a queue."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="the queue")

    def perform(self, store: Store, **options: Any) -> None:
        name = options["name"]
        with store.transaction():
            if not store.resume(name):
                raise CommandError(f"Queue {name} is not paused.")
            self.note(store, "resume", target=name)
        self.stdout.write(f"Queue {name} goes on.")
