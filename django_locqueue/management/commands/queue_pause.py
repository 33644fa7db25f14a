"""``manage.py queue_pause mail --reason "SMTP is down" --until 30m``: no worker starts a task of the queue."""

from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError, CommandParser

from django_locqueue import clock
from django_locqueue.management.queue_command import QueueCommand, known_queues, person_name
from django_locqueue.management.times import shown, until
from django_locqueue.models import Task
from django_locqueue.models.task import queue_name_problem
from django_locqueue.policies import legible
from django_locqueue.store import Store


class Command(QueueCommand):
    help = "Pauses a queue: running tasks finish, new ones are accepted and wait. queue_resume lets it go on."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="the queue")
        parser.add_argument("--reason", default="", help="why; it is shown in admin")
        parser.add_argument(
            "--until", type=until, metavar="TIME", help='then it goes on by itself: 30m, 2h, "2026-12-01 08:00"'
        )

    def perform(self, store: Store, **options: Any) -> None:
        name, until = options["name"], options["until"]
        if problem := queue_name_problem(name):
            raise CommandError(f"The name of a queue {problem}")
        now = store.now()
        end = now + until if isinstance(until, timedelta) else until and clock.storable(until)
        if end is not None and end <= now:
            raise CommandError(f"--until must be in the future: it is {end}, and the database's time is {now}.")
        known = known_queues(store)
        tasks = Task.objects.using(store.alias).filter(queue_name=name)
        is_known = name in known or tasks.ready().exists()
        with store.transaction():
            if not store.pause(name, by=person_name(), reason=options["reason"], until=end):
                raise CommandError(f"Queue {name} is paused already. To pause it anew: queue_resume {name}")
            self.note(store, "pause", target=name, reason=options["reason"])
        if not is_known:
            there = ", ".join(map(legible.line, known)) or "none"
            self.stderr.write(
                self.style.WARNING(
                    f"No worker has served a queue {name} yet. There are: {there}. "
                    f"If the name is wrong: queue_resume {name}"
                )
            )
        running = tasks.running().count()
        self.stdout.write(
            f"Queue {name} is paused"
            + ("." if end is None else f" until {shown(end)}.")
            + (f" {running} running task{' finishes' if running == 1 else 's finish'}." if running else "")
        )
