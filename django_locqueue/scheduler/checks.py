"""System checks of ``LOCQUEUE["SCHEDULES"]``. What ``@schedule`` is given is refused where it stands."""

from collections.abc import Iterable
from typing import Any

from django.core import checks
from django.utils import translation

from django_locqueue import registry
from django_locqueue.conf import place
from django_locqueue.exceptions import InvalidSchedule
from django_locqueue.scheduler.defined import settings_entries

IDS = {
    "task": "E041",
    "cron": "E042",
    "every": "E042",
    "timezone": "E043",
    "args": "E044",
    "kwargs": "E044",
    "missed": "E045",
}
HINTS = {
    "task": "Only functions with @task can be run. Their path is that of their module and their name.",
    "cron": "Minute, hour, day of month, month, day of week, such as “30 8 * * MON-FRI”; for seconds, “every”: 10.",
    "args": "Strings, numbers, booleans, None, lists and dicts, as the function wants them.",
}


@checks.register
def check_schedules(app_configs: Any = None, **kwargs: Any) -> Iterable[checks.CheckMessage]:
    """Each entry names a task that is there, a rule that comes true, and arguments that fit."""
    with translation.override(None):
        yield from list(_check_entries())


def _check_entries() -> Iterable[checks.CheckMessage]:
    ours = {backend.alias for backend in registry.our_backends()}
    for name, found in settings_entries():
        if isinstance(found, InvalidSchedule):
            keys = (found.field,) if found.field in IDS else ()
            yield checks.Error(
                f"{place('LOCQUEUE', 'SCHEDULES', name, *keys)} {found.message}",
                hint=HINTS.get(found.field),
                id=f"locqueue.{IDS.get(found.field, 'E040')}",
            )
        elif ours and found.definition.backend not in ours:
            yield checks.Warning(
                f"{place('LOCQUEUE', 'SCHEDULES', name)} never runs: its task is of the backend "
                f"{found.definition.backend!r}, which is not ours.",
                hint=f"Our backends in TASKS: {', '.join(sorted(ours))}.",
                id="locqueue.W040",
            )
