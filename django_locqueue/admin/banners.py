"""What is wrong right now, on top of each page: a line for each trouble with its cure, the most serious first."""

import shlex
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, NamedTuple

from django.contrib.admin.utils import quote
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from django_locqueue.admin import moments
from django_locqueue.admin.permissions import is_read_only, may
from django_locqueue.models import Queue
from django_locqueue.observability.snapshot import QueueState, Snapshot
from django_locqueue.observability.stats import capped_text
from django_locqueue.observability.verdict import CLOCK_SECONDS
from django_locqueue.policies import legible, masking

MOST_OF_A_KIND = 5
PAUSING = ("locqueue.view_queue", "locqueue.pause_queue")
OVERDUE = timedelta(minutes=5)  # as the tab of overdue tasks


class Banner(NamedTuple):
    """``command``: what to type. ``button``: an address to post to, and its label; ``link``: one to look at."""

    text: Any
    title: Any = ""
    command: str = ""
    button: tuple[str, Any] | None = None
    link: tuple[str, Any] | None = None
    is_quiet: bool = False


def banners(request: Any, site: Any, found: Snapshot, queues: list[Any]) -> Iterator[Banner]:
    """``queues``: their rows as they are at this moment: who resumes one must not read that it is paused."""
    if found.missing_migrations:
        text = _("The task queue has database changes that are not applied:")
        yield Banner(text, command="python manage.py migrate")
    elif not found.live_workers:
        yield Banner(
            _("Tasks wait until you start one:"), title=_("No worker is running."), command="python manage.py runqueue"
        )
    sees_tasks = request.user.has_perm("locqueue.view_task")
    if sees_tasks and found.live_workers:
        yield from _unserved(found)
        if not found.is_scheduling:
            # Workers do it, unless they were started with --no-scheduler.
            yield Banner(
                _("No scheduler is active. Scheduled tasks will not be created."), command="python manage.py runqueue"
            )
    if sees_tasks:
        yield from _unknown(site, found)
        yield from _late(found)
    yield from _paused(request, site, queues)
    if found.late_seconds:
        said = {"span": moments.span(timedelta(seconds=found.late_seconds))}
        yield Banner(_("The database is slow: the numbers on this page are %(span)s old.") % said)
    if abs(found.clock_seconds) > CLOCK_SECONDS:
        seconds = round(abs(found.clock_seconds))
        text = ngettext(
            "The database clock and this server differ by %(count)s second. Times shown here may be wrong.",
            "The database clock and this server differ by %(count)s seconds. Times shown here may be wrong.",
            seconds,
        )
        yield Banner(text % {"count": seconds})
    if is_read_only(request):
        yield Banner(_("Read-only mode: you can look, but not change anything."), is_quiet=True)


def _unserved(found: Snapshot) -> Iterator[Banner]:
    for queue in found.unserved[:MOST_OF_A_KIND]:
        waiting = queue.ready + queue.limited
        text = ngettext(
            "Queue “%(queue)s” has %(count)s task, but no worker listens to it. Start one:",
            "Queue “%(queue)s” has %(count)s tasks, but no worker listens to it. Start one:",
            waiting,
        )
        name = legible.line(queue.name)
        yield Banner(
            text % {"queue": name, "count": capped_text(waiting)},
            command=f"python manage.py runqueue --queue {shlex.quote(name)}",
        )


def _unknown(site: Any, found: Snapshot) -> Iterator[Banner]:
    for unknown in found.unknown[:MOST_OF_A_KIND]:
        text = ngettext(
            "%(count)s task names a function that no longer exists:",
            "%(count)s tasks name a function that no longer exists:",
            unknown.count,
        )
        url = reverse("admin:locqueue_pendingtask_changelist", current_app=site.name)
        yield Banner(
            text % {"count": capped_text(unknown.count)},
            command=legible.line(unknown.path),
            link=(f"{url}?tab=scheduled", _("Show")),
        )


def _late(found: Snapshot) -> Iterator[Banner]:
    late = [
        (queue.oldest_ready_seconds, queue.name)
        for queue in found.queues
        if queue.state in (QueueState.ACTIVE, QueueState.DRAINING)
        and queue.oldest_ready_seconds is not None
        and queue.oldest_ready_seconds > OVERDUE.total_seconds()
    ]
    for seconds, name in sorted(late, reverse=True)[:MOST_OF_A_KIND]:
        said = {"queue": legible.line(name), "span": moments.span(timedelta(seconds=seconds))}
        yield Banner(_("The oldest task in “%(queue)s” has waited %(span)s.") % said)


def _paused(request: Any, site: Any, queues: list[Any]) -> Iterator[Banner]:
    for queue in [queue for queue in queues if queue.is_paused][:MOST_OF_A_KIND]:
        url = reverse("admin:locqueue_queue_resume", args=[quote(queue.name)], current_app=site.name)
        yield Banner(_pause(queue), button=(url, _("Resume")) if may(request, PAUSING) else None, is_quiet=True)


def _pause(queue: Queue) -> Any:
    said = {
        "queue": legible.line(queue.name),
        "by": legible.line(queue.paused_by),
        "when": moments.time_tag(queue.paused_at),
    }
    if queue.paused_by:
        text = format_html(_("Queue “{queue}” was paused by {by} {when}."), **said)
    else:
        text = format_html(_("Queue “{queue}” was paused {when}."), **said)
    if queue.paused_until:
        when = moments.time_tag(queue.paused_until)
        text = format_html("{} {}", text, format_html(_("It goes on {when}."), when=when))
    why = legible.line(masking.mask_text(queue.pause_reason))
    return format_html("{} {}", text, why) if why else text
