"""``manage.py queue_enqueue shop.tasks.report --kwargs '{"month": 11}'``: a task is added by hand."""

import argparse
import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from django_locqueue import compat
from django_locqueue.exceptions import InvalidSchedule
from django_locqueue.management.queue_command import QueueCommand
from django_locqueue.management.times import until
from django_locqueue.models.task import queue_name_problem
from django_locqueue.policies import legible
from django_locqueue.scheduler.call import call_of, task_at
from django_locqueue.store import Store


class Command(QueueCommand):
    help = "Adds a task to its queue. Only functions that are decorated with @task can be added."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("task", metavar="PATH", help="of the function: shop.tasks.report")
        parser.add_argument(
            "--args", dest="positional", type=_json, default=[], metavar="JSON", help="a list: '[1, 2]'"
        )
        parser.add_argument("--kwargs", type=_json, default={}, metavar="JSON", help="""an object: '{"month": 11}'""")
        parser.add_argument("--queue", default=None, help="another than its own")
        parser.add_argument("--priority", type=int, default=None, help="another than its own; higher runs first")
        parser.add_argument("--at", type=until, default=None, metavar="TIME", help='later: 30m, 2h, "2026-12-01 08:00"')
        parser.add_argument("--reason", default="", help="why; shown in admin")

    def perform(self, store: Store, **options: Any) -> None:
        if options["queue"] is not None and (problem := queue_name_problem(options["queue"])):
            raise CommandError(f"--queue {problem}")
        at = options["at"]
        run_after = store.now() + at if hasattr(at, "total_seconds") else at
        try:
            definition = task_at(options["task"])
            call = call_of(definition, options["positional"], options["kwargs"])
            varied = definition.using(
                queue_name=options["queue"],
                priority=options["priority"],
                run_after=run_after,
                backend=self.chosen,  # None: the task's own
            )
            with store.transaction():
                result = varied.enqueue(*call["args"], **call["kwargs"])
                if not (getattr(result, "is_dropped", False) or getattr(result, "is_duplicate", False)):
                    self.note(store, "enqueue", target=str(result.id), reason=options["reason"])
        except InvalidSchedule as error:  # the same is asked of schedules
            subject = repr(options["task"]) if error.field == "task" else f"--{error.field}"
            raise CommandError(f"{subject} {error.message}") from error
        except (compat.InvalidTask, TypeError, ValueError) as error:
            raise CommandError(str(error)) from error
        if getattr(result, "is_dropped", False):
            raise CommandError("Nothing was added: a hook of the project dropped the task.")
        name = legible.line(definition.name)
        if getattr(result, "is_duplicate", False):
            self.stdout.write(f"Nothing was added: #{result.id} holds its unique key and does the same.")
            return
        self.stdout.write(f"{name} was added to queue {legible.line(varied.queue_name)} as #{result.id}.")


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"this is no JSON: {text!r:.80} ({error}). In a shell, put it in single quotes."
        ) from error
