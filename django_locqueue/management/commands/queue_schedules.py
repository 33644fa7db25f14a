"""``manage.py queue_schedules``: what is enqueued again and again, and when next."""

import json
from typing import Any

from django.core.management.base import CommandParser

from django_locqueue.management import table
from django_locqueue.management.queue_command import QueueCommand
from django_locqueue.management.times import shown
from django_locqueue.models import Schedule
from django_locqueue.policies import legible
from django_locqueue.store import Store

MOST = 10_000


class Command(QueueCommand):
    help = "Lists the schedules: their rules, when each runs next and ran last, and what is wrong with them."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--json", action="store_true", help="one object, for programs")

    def perform(self, store: Store, **options: Any) -> None:
        found = list(Schedule.objects.using(store.alias).order_by("name")[:MOST])
        if options["json"]:
            self.stdout.write(json.dumps({"schedules": [_facts(schedule) for schedule in found]}))
            return
        if not found:
            self.stdout.write("No schedules yet. Workers read those in code when they start: manage.py runqueue")
            return
        cells = [
            (
                schedule.name,
                schedule.task_path.rpartition(".")[2],
                _rule(schedule),
                shown(schedule.next_at) if schedule.enabled else "off",
                shown(schedule.last_at) or "never",
                "removed from code" if schedule.removed_at else schedule.source,
                schedule.problem,
            )
            for schedule in found
        ]
        for line in table.lines(("NAME", "TASK", "WHEN", "NEXT", "LAST", "SOURCE", "PROBLEM"), cells):
            self.stdout.write(line)
        on = sum(schedule.enabled for schedule in found)
        self.stdout.write(f"{on} on, {len(found) - on} off")


def _rule(schedule: Schedule) -> str:
    rule = schedule.cron or f"every {schedule.every} s"
    return f"{rule} ({schedule.timezone})" if schedule.timezone else rule


def _facts(schedule: Schedule) -> dict[str, Any]:
    return {
        "name": schedule.name,
        "task": schedule.task_path,
        "cron": schedule.cron,
        "every": schedule.every,
        "timezone": schedule.timezone,
        "enabled": schedule.enabled,
        "next_at": schedule.next_at and schedule.next_at.isoformat(),
        "last_at": schedule.last_at and schedule.last_at.isoformat(),
        "last_task_id": schedule.last_task_id,
        "source": schedule.source,
        "removed_at": schedule.removed_at and schedule.removed_at.isoformat(),
        "problem": legible.line(schedule.problem),
    }
