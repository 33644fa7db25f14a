"""The tries at one task, newest first, with what each left behind; and its timeline, with the time between."""

import re
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from django.db.models.functions import Left, Length
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext as _

from django_locqueue.admin import moments
from django_locqueue.admin.badges import badge, state_badge
from django_locqueue.admin.columns import error_line
from django_locqueue.clock import local
from django_locqueue.exceptions import TaskTimeout
from django_locqueue.models import State, TaskAttempt
from django_locqueue.models.task import worker_names
from django_locqueue.policies import legible, masking
from django_locqueue.policies.outcome import class_path

FEW = 5
MANY = 50
TRACEBACK_LENGTH = 20_000
TIMED_OUT = class_path(TaskTimeout)

_FRAME = re.compile(r'^  File "([^"\n]*)", line ', re.MULTILINE)
# Installed packages, Python's own library, what is frozen into it, and us. By their names: a worker's folders may be
# others than those of the web server.
_OTHERS = re.compile(
    r"[\\/](?:(?:site|dist)-packages|lib[\\/]python3[.\d]*|django_locqueue)[\\/]|^<frozen ", re.IGNORECASE
)
_END_OF_FRAMES = re.compile(r"\n(?=\S|\n)")  # the exception itself, or another's traceback


class Try(NamedTuple):
    """One line of the table, and what the timeline needs of it."""

    number: int
    outcome: str  # the name of a badge
    started_at: datetime | None
    ended_at: datetime | None
    worker: str
    error: Any
    traceback: Any  # as HTML; empty if there is none
    has_others_code: bool
    is_cut: bool

    @property
    def part(self) -> str:
        """The id of the element that shows the traceback."""
        return f"lq-traceback-{self.number}"

    @property
    def badge(self) -> Any:
        return badge(self.outcome)

    @property
    def started(self) -> Any:
        return moments.time_tag(self.started_at)

    @property
    def ran_for(self) -> str:
        return moments.span(self.ended_at - self.started_at) if self.started_at and self.ended_at else "–"


class Attempts(NamedTuple):
    tries: list[Try]
    more_before: int | None  # the number of the first attempt that is not shown, if there is one


def attempts_of(task: Any, shown: str = "") -> Attempts:
    """Return the latest tries. ``shown``: what the address asks for, a number: fifty from that attempt down."""
    rows = TaskAttempt.objects.filter(task_id=task.pk).order_by("-id")
    most = FEW
    if shown.isascii() and shown.isdecimal() and len(shown) < 10:
        rows, most = rows.filter(number__lte=int(shown)), MANY
    # In two steps: the database would cut thousands of tracebacks before it sorts them.
    found = dict(rows.values_list("pk", "number")[: most + 1])
    ids = list(found)
    wide = (
        TaskAttempt.objects.filter(pk__in=ids[:most])
        .defer("traceback")
        .annotate(traceback_start=Left("traceback", TRACEBACK_LENGTH), traceback_size=Length("traceback"))
        .order_by("-id")
    )
    tries = [_failed_try(attempt) for attempt in wide] if ids else []
    if most == FEW:
        tries = _last_try(task) + tries
    return Attempts(tries, found[ids[most]] if len(ids) > most else None)


def _failed_try(attempt: Any) -> Try:
    traceback, has_others_code = draw_traceback(legible.block(masking.mask_text(attempt.traceback_start)))
    return Try(
        number=attempt.number,
        outcome="timed out" if attempt.error_class == TIMED_OUT else attempt.outcome,
        started_at=attempt.started_at,
        ended_at=attempt.finished_at,
        worker=legible.line(attempt.worker_name),
        error=error_line(attempt.error_class, attempt.error_message),
        traceback=traceback,
        has_others_code=has_others_code,
        is_cut=attempt.traceback_size > TRACEBACK_LENGTH,
    )


def _last_try(task: Any) -> list[Try]:
    """Return the try that runs or succeeded: neither leaves a row."""
    if task.state not in (State.RUNNING, State.SUCCESSFUL) or not task.attempt:
        return []
    names = worker_names(task.worker_ids_end)
    return [
        Try(
            number=task.attempt,
            outcome=task.state,
            started_at=task.last_attempted_at,
            ended_at=task.finished_at,
            worker=legible.line(names[-1]) if names else "–",
            error="–",
            traceback="",
            has_others_code=False,
            is_cut=False,
        )
    ]


def draw_traceback(text: str) -> tuple[Any, bool]:
    """Return a legible traceback as HTML, and whether frames of both other people's code and one's own are in it.

    The former are marked, so that they can be hidden without a script.
    """
    pieces: list[tuple[str, str]] = []
    starts = [match.start() for match in _FRAME.finditer(text)]
    begin = 0
    for start, following in zip(starts, [*starts, len(text)][1:], strict=True):
        pieces.append(("", text[begin:start]))
        end = _END_OF_FRAMES.search(text, start, following)
        begin = end.end() if end else following
        path = _FRAME.match(text, start)
        is_others = path is not None and _OTHERS.search(path[1]) is not None
        pieces.append(("lq-others" if is_others else "lq-own", text[start:begin]))
    pieces.append(("", text[begin:]))
    kinds = {kind for kind, _ in pieces}
    if not {"lq-others", "lq-own"} <= kinds:
        return text, False
    drawn = format_html_join(
        "", "{}", ((format_html('<span class="{}">{}</span>', kind, part) if kind else part,) for kind, part in pieces)
    )
    return drawn, True


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
