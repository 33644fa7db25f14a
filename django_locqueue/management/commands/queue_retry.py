"""``manage.py queue_retry --filter error=ConnectionError last=24h --reason "SMTP is back"``: failed tasks run again."""

from typing import Any

from django.core.management.base import CommandParser

from django_locqueue.management.change_command import ChangeCommand


class Command(ChangeCommand):
    help = (
        "Runs failed and cancelled tasks again, with the same arguments. Not for those that are unsafe to run twice. "
        "Without listing=… --filter means failed tasks."
    )
    verb = "retry"
    listing = "failed"
    words = ("Retry", "Retried", "had not failed, never was, or did not get its unique key")

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--fresh-attempts", action="store_true", help="give them as many attempts as a new task of their kind"
        )

    def options_of(self, **options: Any) -> dict[str, Any]:
        return {"fresh_attempts": True} if options["fresh_attempts"] else {}
