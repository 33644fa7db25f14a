"""``manage.py queue_check``: is the queue configured right? Like ``check``, but only of what is ours."""

from typing import Any

from django.core.checks import ERROR, WARNING
from django.core.checks.registry import registry
from django.core.management.base import BaseCommand, CommandError

from django_locqueue import conf

OURS = "django_locqueue"


class Command(BaseCommand):
    help = "Checks the configuration of the queue, without its database. The exit code is 1 if there is an error."
    requires_system_checks: Any = []  # it runs those that matter here, and words them

    def handle(self, *args: Any, **options: Any) -> None:
        ours = [
            check for check in registry.get_checks(include_deployment_checks=True) if check.__module__.startswith(OURS)
        ]
        found = [message for check in ours for message in check(app_configs=None, databases=[])]
        if not conf.our_backends():
            raise CommandError(
                "TASKS has no backend of ours. Add: "
                'TASKS = {"default": {"BACKEND": "django_locqueue.backend.LocQueueBackend"}}'
            )
        for message in sorted(found, key=lambda message: -message.level):
            style = self.style.ERROR if message.level >= ERROR else self.style.WARNING
            self.stdout.write(style(f"{message.id}  {message.msg}"))
            if message.hint:
                self.stdout.write(f"    {message.hint}")
        errors = sum(message.level >= ERROR for message in found)
        warnings = sum(WARNING <= message.level < ERROR for message in found)
        if errors:
            raise CommandError(f"{errors} error{'' if errors == 1 else 's'} in the configuration of the queue.")
        said = f" with {warnings} warning{'' if warnings == 1 else 's'}" if warnings else ""
        self.stdout.write(f"OK  the queue is configured{said}: backends {', '.join(conf.our_backends())}.")
