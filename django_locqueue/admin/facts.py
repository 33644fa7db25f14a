"""What there is to know about a task besides its arguments, result and attempts."""

import json
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext as _

from django_locqueue import clock, registry
from django_locqueue.admin import moments
from django_locqueue.admin.limits import why_it_waits
from django_locqueue.models import State
from django_locqueue.models.task import worker_names
from django_locqueue.observability.snapshot import QueueState, Snapshot
from django_locqueue.policies import legible, masking
from django_locqueue.policies.terms import USUAL, Terms, load_terms

Fact = tuple[str, Any]

# What other apps know about a task: functions of (request, admin site, task). They know this package, and it does not
# know them.
others: list[Callable[[HttpRequest, Any, Any], Iterable[Fact]]] = []


def facts_of(task: Any, now: Snapshot) -> list[Fact]:
    """Return labels and values, without those that say nothing about this task."""
    found: list[Fact] = [(_("Added"), _moment(task.enqueued_at))]
    if task.state == State.SCHEDULED:
        found.append((_("Next try") if task.is_retrying else _("Runs"), _moment(task.run_after)))
    if task.state == State.BLOCKED and (why := why_it_waits(task)):
        found.append((_("Waits because"), why))
    if task.state in (State.READY, State.BLOCKED) and (why := _why_its_queue_waits(task.queue_name, now)):
        found.append((_("Waits because"), why))
    if (present := registry.present_path(task.task_path)) != task.task_path:
        found.append((_("Runs as"), legible.line(present)))
    if task.unknown_since and not task.is_finished:
        found.append((_("Not known since"), _moment(task.unknown_since)))
    if seconds := _expires(task):
        found.append((_("Expires"), _("if it has not started %(span)s after it could") % {"span": seconds}))
    if task.started_at:
        found.append((_("Waited"), moments.span(task.started_at - task.ready_at)))
        found.append((_("Started"), _moment(task.started_at)))
    if task.attempt > 1 and task.last_attempted_at:
        found.append((_("Last attempt"), _moment(task.last_attempted_at)))
    if task.finished_at:
        found.append((_("Finished"), _moment(task.finished_at)))
        if task.last_attempted_at and task.state != State.CANCELLED:
            found.append((_("Ran for"), moments.span(task.finished_at - task.last_attempted_at)))
    names = worker_names(task.worker_ids_end)
    if names:
        found.append((_("Worker"), legible.line(names[-1])))
    if task.crashes:
        found.append((_("Workers lost"), task.crashes))
    if task.unique_key:
        # The lists are of tasks; that the key is one of this definition's goes without saying.
        key = legible.line(masking.mask_text(task.unique_key.removeprefix(f"{task.task_path}:")))
        found.append((_("Unique key"), _("%(key)s (held)") % {"key": key} if task.unique_lock else key))
    if task.cancel_requested and not task.is_finished:
        found.append((_("Asked to stop"), _asked(task)))
    if (terms := _terms(task)).chunk is not None:
        words = _("%(calls)s tasks at most in one call; the first waits up to %(seconds)s s for others")
        found.append((_("Runs in chunks"), words % {"calls": terms.chunk, "seconds": f"{terms.chunk_wait:g}"}))
    if task.finished_at and (days := kept_days(task.backend_alias, task.state)) is not None:
        found.append((_("Kept until"), moments.day(_later(task.finished_at, days))))
    if task.backend_alias != "default":
        found.append((_("Backend"), legible.line(task.backend_alias)))
    if hooks := _hooks(task.backend_alias):
        found.append((_("Hooks"), hooks))
    return found


def _why_its_queue_waits(queue_name: str, now: Snapshot) -> str:
    state = next((each.state for each in now.queues if each.name == queue_name), None)
    if state == QueueState.PAUSED:
        return _("Its queue is paused.")
    return _("No worker serves its queue.") if state == QueueState.NO_WORKER else ""


def _hooks(backend_alias: str) -> str:
    """Return what stands around its run, the outermost first."""
    paths = (backend := registry.backend_or_first(backend_alias)) and backend.options.get("MIDDLEWARE")
    return ", ".join(map(str, paths)) if isinstance(paths, list | tuple) else ""


def kept_days(backend_alias: str, state: str) -> float | None:
    """Return for how many days a task is kept that has ended so; None: for ever, or nobody knows."""
    backend = registry.backend_or_first(backend_alias)
    days: float | None = backend.retention.get(state) if backend is not None else None
    return days


def facts_of_others(request: HttpRequest, admin_site: Any, task: Any) -> list[Fact]:
    """Return what other apps tell this person about a task."""
    return [fact for tell in others for fact in tell(request, admin_site, task)]


def metadata_of(task: Any) -> dict[str, Any]:
    """Return the metadata; nothing if they are damaged, or too large to be loaded for a page."""
    try:
        metadata = json.loads(task.metadata_start or "{}")
    except (ValueError, RecursionError):
        return {}
    return metadata if isinstance(metadata, dict) else {}


def _later(moment: datetime, days: float) -> datetime:
    """Return the time ``days`` later, or the last that there is."""
    try:
        return moment + timedelta(days=days)
    except OverflowError:  # edited by hand, or days without end
        return clock.storable(clock.LATEST)


def _terms(task: Any) -> Terms:
    """Return the terms of a task; the usual ones if they are damaged."""
    try:
        return load_terms(task.terms)
    except (ValueError, TypeError):
        return USUAL


def _expires(task: Any) -> str | None:
    if task.terms is None or task.started_at or task.is_finished:
        return None
    try:
        seconds = load_terms(task.terms).expires
        return moments.span(timedelta(seconds=seconds)) if seconds else None
    except (ValueError, TypeError, OverflowError):
        return None  # edited by hand


def _asked(task: Any) -> str:
    why = legible.line(masking.mask_text(task.cancel_reason))
    return " ".join(filter(None, (why, _("It is interrupted if it does not stop by itself."))))


def _moment(moment: Any) -> Any:
    return format_html("{} ({})", moments.whole(moment), moments.time_tag(moment))
