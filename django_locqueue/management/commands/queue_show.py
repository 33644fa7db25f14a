"""``manage.py queue_show 48211``: all that is known of a task, with what is secret hidden."""

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from django_locqueue.management.queue_command import QueueCommand
from django_locqueue.observability.task_json import full_task_json, state_name
from django_locqueue.policies import legible, payload
from django_locqueue.store import Store


class Command(QueueCommand):
    help = "Shows a task: its state, arguments, result, and each attempt with its traceback."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("id", type=int, metavar="ID", help="as the log and admin show it")
        parser.add_argument("--json", action="store_true", help="one object, for programs")

    def perform(self, store: Store, **options: Any) -> None:
        task = store.tasks.filter(pk=options["id"]).first()
        if task is None:
            raise CommandError(f"Task #{options['id']} does not exist. It may have been deleted.")
        found = full_task_json(task)
        if options["json"]:
            self.stdout.write(json.dumps(found))
            return
        attempts, log = found.pop("attempts"), found.pop("log")
        self.stdout.write(f"{legible.line(task.name)} #{task.pk}  {state_name(task)}")
        for name, value in found.items():
            if name not in ("id", "state") and value not in (None, "", [], {}, False):
                text = legible.line(value) if isinstance(value, str) else _value_text(value)
                self.stdout.write(f"  {name:<16} {text}")
        for attempt in attempts:
            said = f"attempt {attempt['number']}  {attempt['outcome']}  {attempt['started']}  {attempt['worker']}"
            self.stdout.write(f"\n{legible.line(said)}")
            trace = attempt["traceback"].rstrip() or f"{attempt['error']}: {attempt['message']}".strip(": ")
            for line in legible.block(trace).splitlines():
                self.stdout.write(f"  {line}")
        for line in _log_lines(log):
            self.stdout.write(line)


def _value_text(value: Any) -> str:
    """Return a value of JSON for one line of a terminal."""
    return legible.line(payload.dump(value)[:500])


def _log_lines(log: Any) -> list[str]:
    """Return a task's log for a terminal, a line each with its attempt; nothing for what is none."""
    lines = log if isinstance(log, list) else []
    words = ("attempt", "time", "level", "logger", "message")
    said = ["  ".join(str(line.get(word, "")) for word in words) for line in lines if isinstance(line, dict)]
    return ["\nlog", *(f"  {legible.line(each)}" for each in said)] if said else []
