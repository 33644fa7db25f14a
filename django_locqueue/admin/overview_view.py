"""What the overview shows of one period, and of one queue or of all."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, NamedTuple

from django.urls import reverse
from django.utils.formats import number_format
from django.utils.functional import cached_property
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from django_locqueue import conf
from django_locqueue.admin import moments, numbers
from django_locqueue.admin.badges import badge
from django_locqueue.admin.bulk_links import bulk_url
from django_locqueue.admin.charts import Chart, Column, LineChart, Moment, Words, bar_chart, line_chart
from django_locqueue.admin.columns import error_line, task_name
from django_locqueue.admin.facts import kept_days
from django_locqueue.clock import local
from django_locqueue.models import ErrorGroup, Task
from django_locqueue.observability.history import Bar, History, Numbers, frequent_errors, shared_history
from django_locqueue.observability.snapshot import QueueNow, Snapshot, snapshot
from django_locqueue.observability.stats import capped_text
from django_locqueue.policies import legible
from django_locqueue.statement_limit import TooSlow, statement_limit
from django_locqueue.store.selection import Selection

MOST_ERRORS, MOST_SLOW, MOST_RECENT, MOST_QUEUES = 5, 5, 5, 20
LOOKED_AT = 200  # failed tasks, for those of one queue
HOURS = {"15m": "hour", "1h": "hour", "24h": "day", "7d": "week"}  # fields of Failures


class Card(NamedTuple):
    label: Any
    value: str
    note: str
    url: str
    is_bad: bool = False


class OverviewView:
    """Parts are read when the template asks for them. A fixed number of statements, however much there is."""

    def __init__(self, request: Any, site: Any, period: str, queue: str) -> None:
        self.request = request
        self.site = site
        self.period = period
        self.now: Snapshot = snapshot()
        self.queue = queue if any(each.name == queue for each in self.now.queues) else ""

    @property
    def queues(self) -> Sequence[QueueNow]:
        return self.now.queues

    @cached_property
    def history(self) -> History:
        return shared_history(self.period, self.queue, now=self.now.at)

    @cached_property
    def is_new(self) -> bool:
        """Whether there has never been a task, as far as anybody remembers."""
        found = self.now
        return not (found.pending + found.running + found.failed + found.retried) and not Task.objects.exists()

    # -- cards

    @property
    def cards(self) -> list[Card]:
        here: Any = self.now
        if self.queue:
            here = next(each for each in self.now.queues if each.name == self.queue)
        total = self.history.total
        rate = self.history.per_minute(Numbers(succeeded=total.succeeded))
        failed = capped_text(here.failed_24h if self.queue else here.failed)
        return [
            Card(_("Ready"), capped_text(here.ready), self._oldest(here), self._list("pendingtask", tab="ready")),
            Card(
                _("Scheduled"),
                capped_text(here.scheduled),
                self._next(self.now.next_due_seconds),
                self._list("pendingtask", tab="scheduled"),
            ),
            self._running(here),
            Card(
                _("Waiting to retry"),
                capped_text(here.retrying),
                self._next(self.now.next_retry_seconds),
                self._list("retriedtask", tab="waiting"),
            ),
            Card(
                _("Failed (24 h)") if self.queue else _("Failed"),
                failed,
                _("+%(count)s this hour") % {"count": capped_text(here.failed_hour)} if here.failed_hour else "",
                self._list("failedtask"),
                is_bad=failed != "0",
            ),
            Card(
                _("Succeeded"),
                numbers.short(total.succeeded),
                _("%(rate)s / min") % {"rate": _rate(rate)},
                self._list("task", tab="succeeded", since=self.history.bars[0].start.isoformat()),
            ),
        ]

    def _running(self, here: Any) -> Card:
        url = self._list("runningtask")
        if self.queue:
            return Card(_("Running"), capped_text(here.running), "", url)
        value = _("%(busy)s of %(slots)s") % {"busy": self.now.busy, "slots": self.now.slots}
        return Card(_("Running"), value if self.now.slots else capped_text(here.running), _("slots busy"), url)

    def _oldest(self, here: Any) -> str:
        seconds = here.oldest_ready_seconds
        return "" if seconds is None else _("oldest %(span)s") % {"span": in_words(seconds)}

    def _next(self, seconds: float | None) -> str:
        if self.queue or seconds is None:
            return ""
        return _("next in %(span)s") % {"span": in_words(seconds)} if seconds > 0 else _("due now")

    def _list(self, page: str, **conditions: str) -> str:
        url = reverse(f"admin:locqueue_{page}_changelist", current_app=self.site.name)
        if self.queue:
            conditions.setdefault("queue", self.queue)
        return f"{url}?{urlencode(conditions)}" if conditions else url

    # -- charts

    @property
    def has_finished(self) -> bool:
        total = self.history.total
        return bool(total.finished + total.retried)

    @property
    def finished_chart(self) -> Chart:
        titles = {60: _("Finished per minute"), 3600: _("Finished per hour"), 21600: _("Finished per 6 hours")}
        columns = [
            Column(
                self._label(bar),
                bar.succeeded,
                errors=bar.failed,
                is_partial=not bar.is_over,
                url=self._list("task", tab="succeeded", **self._span(bar)),
                errors_url=self._list("failedtask", **self._span(bar)),
            )
            for bar in self.history.bars
        ]
        words = Words(_("succeeded"), pgettext("number of tasks", "failed"))
        return bar_chart(titles[self.history.period.bar_seconds], columns, words, colour="ok", is_stacked=True)

    @property
    def line_charts(self) -> list[LineChart]:
        total = self.history.total
        return [
            self._lines(_("Wait time"), (total.wait_p50, total.wait_p95), lambda bar: (bar.wait_p50, bar.wait_p95)),
            self._lines(_("Run time"), (total.run_p50, total.run_p95), lambda bar: (bar.run_p50, bar.run_p95)),
        ]

    def _lines(self, title: str, whole: tuple[float | None, float | None], of: Any) -> LineChart:
        found = [Moment(self._label(bar), of(bar), is_partial=not bar.is_over) for bar in self.history.bars]
        return line_chart(title, [("p50", whole[0]), ("p95", whole[1])], found, in_words)

    @staticmethod
    def _span(bar: Bar) -> dict[str, str]:
        return {"since": bar.start.isoformat(), "until": (bar.start + timedelta(seconds=bar.seconds)).isoformat()}

    def _label(self, bar: Bar) -> str:
        start = local(bar.start)
        return f"{start:%H:%M}" if bar.seconds == 60 else f"{start:%m-%d %H:%M}"

    # -- tables

    @property
    def queue_rows(self) -> list[dict[str, Any]]:
        base = reverse("admin:locqueue_overview_changelist", current_app=self.site.name)
        shown = [each for each in self.now.queues if not self.queue or each.name == self.queue]
        return [
            {
                "name": legible.line(each.name),
                "url": f"{base}?{urlencode({'period': self.period, 'queue': each.name})}",
                "ready": capped_text(each.ready),
                "ready_url": self._list("pendingtask", tab="ready", queue=each.name),
                "oldest": "–" if each.oldest_ready_seconds is None else in_words(each.oldest_ready_seconds),
                "running": capped_text(each.running),
                "running_url": self._list("runningtask", queue=each.name),
                "per_minute": _rate(each.per_minute),
                "wait": "–" if each.wait_p95 is None else in_words(each.wait_p95),
                "badge": badge(each.state),
            }
            for each in shown[:MOST_QUEUES]
        ]

    @property
    def more_queues_url(self) -> str:
        """Where all of them stand, if these are not all."""
        is_cut = not self.queue and len(self.now.queues) > MOST_QUEUES
        return reverse("admin:locqueue_queue_changelist", current_app=self.site.name) if is_cut else ""

    @cached_property
    def errors(self) -> Sequence[tuple[ErrorGroup, int]]:
        """Kinds of errors, of all queues: their counts do not know queues."""
        span = timedelta(seconds=self.history.period.seconds)
        return frequent_errors(span, now=self.now.at, most=MOST_ERRORS, hours=HOURS[self.period])

    @property
    def error_rows(self) -> list[dict[str, Any]]:
        failed = reverse("admin:locqueue_failedtask_changelist", current_app=self.site.name)
        return [
            {
                "error": error_line(group.error_class, group.message),
                "task": task_name(group.task_path),
                "url": f"{failed}?{urlencode({'group': group.pk})}",
                "count": numbers.whole(count),
                "last_seen": moments.time_tag(group.last_seen),
                "retry_url": bulk_url(self.request, self.site, "retry", "failed", group=group.pk),
            }
            for group, count in self.errors
        ]

    @property
    def slowest(self) -> list[tuple[str, Numbers]]:
        """Paths of tasks, with what is known of them; the slowest first."""
        known = [(path, found) for path, found in self.history.tasks.items() if found.run_p95 is not None]
        return sorted(known, key=lambda pair: -(pair[1].run_p95 or 0))[:MOST_SLOW]

    @property
    def slow_rows(self) -> list[dict[str, Any]]:
        return [
            {
                "task": task_name(path),
                "url": self._list("task", task=path),
                "p95": in_words(found.run_p95 or 0),
                "runs": numbers.whole(sum(found.run_bins)),
            }
            for path, found in self.slowest
        ]

    @cached_property
    def recent(self) -> list[Any]:
        """The tasks that failed last. Those of one queue are looked for among the last only: no index knows them."""
        columns = ("id", "task_path", "queue_name", "error_class", "error_message", "finished_at")
        rows = Selection("failed").rows().only(*columns)[: LOOKED_AT if self.queue else MOST_RECENT]
        with suppress(TooSlow), statement_limit(rows.db, conf.admin.STATEMENT_SECONDS):
            return [task for task in rows if self.queue in ("", task.queue_name)][:MOST_RECENT]
        return []

    @property
    def recent_rows(self) -> list[dict[str, Any]]:
        return [
            {
                "id": task.pk,
                "url": reverse("admin:locqueue_task_change", args=[task.pk], current_app=self.site.name),
                "task": task_name(task.task_path),
                "error": error_line(task.error_class, task.error_message),
                "when": moments.time_tag(task.finished_at),
            }
            for task in self.recent
        ]

    @property
    def kept(self) -> str:
        """How long what has ended is there to be looked at."""
        days = [kept_days("", state) for state in ("successful", "failed")]
        if None in days:
            return ""
        said = {"finished": _days(days[0]), "failed": _days(days[1])}
        return _("Finished tasks are kept %(finished)s, failed ones %(failed)s.") % said


def in_words(seconds: float) -> str:
    return moments.span(timedelta(seconds=seconds))


def _rate(rate: float) -> str:
    return str(number_format(round(rate, 1), 1 if 0 < rate < 9.95 else 0, force_grouping=True))


def _days(days: float | None) -> str:
    count = days or 0
    text = number_format(count, 0 if float(count).is_integer() else 1)
    return ngettext("%(count)s day", "%(count)s days", int(count)) % {"count": text}
