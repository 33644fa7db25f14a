"""What became of a task, step by step, with the time between."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from django.utils.html import format_html
from django.utils.translation import gettext as _

from django_locqueue.admin import moments
from django_locqueue.admin.attempts import Attempts, Try
from django_locqueue.admin.badges import badge, state_badge
from django_locqueue.clock import local
from django_locqueue.models import State


class Step(NamedTuple):
    """``gap``: the time since the step before, in words."""

    gap: str
    drawn: Any


def timeline_of(task: Any, attempts: Attempts) -> list[Step]:
    """Return the steps, the earliest first: added, the latest tries, and where it stands now."""
    clock = partial(_clock, begun=task.enqueued_at)
    steps = [Step("", format_html("○ {} {}", _("Added"), clock(task.enqueued_at)))]
    last = task.enqueued_at
    tries: Sequence[Try] = attempts.tries[::-1]
    if attempts.more_before is not None:
        steps.append(Step("", "…"))
        last = None
    for each in tries:
        steps.append(Step(_gap(last, each.started_at), format_html("▶ {} {}", clock(each.started_at), each.badge)))
        last = each.ended_at or each.started_at
    if task.state == State.SCHEDULED:
        steps.append(Step("", format_html("{} {}", state_badge(task), clock(task.run_after))))
    elif task.state in (State.FAILED, State.CANCELLED):
        steps.append(
            Step(_gap(last, task.finished_at), format_html("{} {}", badge(task.state), clock(task.finished_at)))
        )
    elif task.state in (State.READY, State.BLOCKED):
        steps.append(Step("", state_badge(task)))
    return steps


def _clock(moment: datetime | None, begun: datetime) -> Any:
    """Return the time of day, on another day than the task was added with the date; whole for who points at it."""
    if moment is None:
        return ""
    at, first = local(moment), local(begun)
    text = f"{at:%H:%M:%S}" if at.date() == first.date() else f"{at:%m-%d %H:%M:%S}"
    return format_html('<time datetime="{}" title="{}">{}</time>', moment.isoformat(), moments.whole(moment), text)


def _gap(before: datetime | None, after: datetime | None) -> str:
    """Return the time between; empty where two steps are one moment."""
    if before is None or after is None or (after - before).total_seconds() < 0.0005:
        return ""
    return moments.span(after - before)
