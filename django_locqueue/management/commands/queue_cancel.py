"""``manage.py queue_cancel 48211 --reason "wrong month"``: what waits ends at once, what runs is stopped."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from django_locqueue import endings
from django_locqueue.management import person
from django_locqueue.management.queue_command import QueueCommand
from django_locqueue.store import Store


class Command(QueueCommand):
    help = "Cancels tasks by their ids. One that waits ends at once; one that runs is asked to stop, then interrupted."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("ids", nargs="+", type=int, metavar="ID", help="as the log and admin show it")
        parser.add_argument("--reason", default="", help="why; the tasks end with it")

    def change(self, store: Store, **options: Any) -> None:
        wanted = sorted(set(options["ids"]))
        cancelled, asked = endings.cancel(store, wanted, options["reason"], by=person.name())
        if changed := len(cancelled) + len(asked):
            self.note(
                store,
                "cancel",
                target=str(wanted[0]) if len(wanted) == 1 else "",
                selection={"ids": wanted} if len(wanted) > 1 else None,
                matched=len(wanted),
                changed=changed,
                skipped=len(wanted) - changed,
                reason=options["reason"],
            )
        if cancelled:
            self.stdout.write(f"Cancelled {_tasks(cancelled)}.")
        if asked:
            self.stdout.write(f"Asked {_tasks(asked)} to stop, which {'runs' if len(asked) == 1 else 'run'}.")
        if left := sorted({*wanted} - {*cancelled, *asked}):
            raise CommandError(f"Nothing to cancel: {_tasks(left)} had ended before, or never was.")


def _tasks(ids: list[int]) -> str:
    return f"task{'' if len(ids) == 1 else 's'} {', '.join(f'#{task_id}' for task_id in ids)}"
