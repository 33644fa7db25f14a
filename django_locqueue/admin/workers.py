"""The list of workers, where one is asked to stop."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import path, reverse
from django.utils.formats import number_format
from django.utils.html import format_html, format_html_join
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from django_locqueue.admin import moments
from django_locqueue.admin.badges import badge
from django_locqueue.admin.noting import note
from django_locqueue.admin.page_base import button
from django_locqueue.admin.pages import page
from django_locqueue.admin.permissions import may
from django_locqueue.admin.plain_list import PlainListAdmin
from django_locqueue.models import Worker
from django_locqueue.observability.snapshot import RunningTask, Snapshot, WorkerState, snapshot
from django_locqueue.policies import legible
from django_locqueue.store import get_store

PERMISSION = "locqueue.stop_worker"
MOST_SHOWN = 3  # of a worker's running tasks


@page(Worker)
class WorkerAdmin(PlainListAdmin):
    empty = gettext_lazy("No worker has ever started, or the last one stopped long ago.")
    ordering = ("-id",)
    list_display = (
        "name_column",
        "state_column",
        "busy_column",
        "running_column",
        "heartbeat_column",
        "ended_column",
        "version_column",
    )

    def complete(self, rows: list[Any]) -> None:
        present = {worker.id: worker for worker in snapshot().workers}
        for row in rows:
            row.present = present.get(row.pk)  # None: it has stopped, or is younger than the snapshot

    def changelist_view(self, request: Any, extra_context: Any = None) -> Any:
        return super().changelist_view(request, {"introduction": _summary(snapshot()), **(extra_context or {})})

    def get_list_display(self, request: Any) -> Any:
        if not may(request, PERMISSION):
            return self.list_display

        @admin.display(description="", empty_value="")
        def buttons(worker: Any) -> Any:
            if worker.stopped_at or worker.stop_requested:  # a quiet one, which takes no tasks, lives on
                return None
            if worker.present is not None and worker.present.state == WorkerState.LOST:
                return None
            url = reverse("admin:locqueue_worker_stop", args=[worker.pk], current_app=self.admin_site.name)
            return button(url, _("Stop after current tasks"))

        return (*self.list_display, buttons)

    @admin.display(description=gettext_lazy("worker"))
    def name_column(self, worker: Any) -> Any:
        """With its queues; on a phone also with what stands in columns elsewhere."""
        return format_html(
            '{}<div class="lq-line">{}</div><div class="lq-line lq-narrow">{} · {}</div>',
            legible.line(worker.name),
            legible.line(worker.queues.replace(",", ", ")) or _("all queues"),
            self.busy_column(worker),
            moments.time_tag(worker.heartbeat_at),
        )

    @admin.display(description=gettext_lazy("state"))
    def state_column(self, worker: Any) -> Any:
        if worker.stopped_at:
            return badge("stopped")
        return badge(f"worker {WorkerState.STARTING if worker.present is None else worker.present.state}")

    @admin.display(description=gettext_lazy("busy"))
    def busy_column(self, worker: Any) -> Any:
        if worker.present is None:
            return "–"
        return format_html("{}/{}", worker.present.busy, worker.threads)

    @admin.display(description=gettext_lazy("now running"), empty_value="–")
    def running_column(self, worker: Any) -> Any:
        now = worker.present
        if now is None or not now.running:
            return None
        if now.state == WorkerState.LOST:
            return _returns(worker, now.busy)
        shown = format_html_join(
            ", ", '<a href="{}">{} #{}</a> ({})', (self._task(task) for task in now.running[:MOST_SHOWN])
        )
        more = now.busy - min(len(now.running), MOST_SHOWN)
        return format_html("{} … +{}", shown, more) if more else shown

    def _task(self, task: RunningTask) -> tuple[Any, ...]:
        url = reverse("admin:locqueue_task_change", args=[task.id], current_app=self.admin_site.name)
        return url, legible.line(task.name), task.id, moments.span(timedelta(seconds=task.seconds))

    @admin.display(description=gettext_lazy("heartbeat"))
    def heartbeat_column(self, worker: Worker) -> Any:
        return format_html(
            '{}<div class="lq-line">{} {}</div>',
            moments.time_tag(worker.heartbeat_at),
            _("started"),
            moments.time_tag(worker.started_at),
        )

    @admin.display(description=gettext_lazy("done/failed"))
    def ended_column(self, worker: Worker) -> Any:
        """As links to those of them that are kept."""
        counts: Any = ((worker.succeeded, "task", {"tab": "succeeded"}), (worker.failed, "failedtask", {}))
        return format_html_join(
            "/",
            '<a href="{}?{}">{}</a>',
            (
                (self.list_url(name), urlencode({**tab, "worker": worker.name}), number_format(n, force_grouping=True))
                for n, name, tab in counts
            ),
        )

    @admin.display(description=gettext_lazy("version"))
    def version_column(self, worker: Worker) -> Any:
        versions = " · ".join(legible.line(text) for text in (worker.version, worker.code_version) if text)
        memory = "" if worker.memory_mb is None else f"{number_format(worker.memory_mb, force_grouping=True)} MB"
        return format_html('{}<div class="lq-line">{}</div>', versions or "–", memory)

    # -- changes

    def get_urls(self) -> list[Any]:
        stop = self.posted_to(self.stop_view)
        return [path("<int:worker_id>/stop/", stop, name="locqueue_worker_stop"), *super().get_urls()]

    def stop_view(self, request: Any, worker_id: int) -> Any:
        if not may(request, PERMISSION):
            raise PermissionDenied
        worker = get_object_or_404(Worker, pk=worker_id)
        said = {"worker": legible.line(worker.name)}
        if get_store().ask_worker_to_stop(worker_id):
            note(request, "stop_worker", target=worker.name)
            sentence = _("Worker “%(worker)s” finishes its tasks and stops. It hears of it with its next heartbeat.")
            self.message_user(request, sentence % said, messages.SUCCESS)
        else:
            sentence = _("Nothing was changed: worker “%(worker)s” had stopped, or was asked to.")
            self.message_user(request, sentence % said, messages.WARNING)
        return HttpResponseRedirect(self.list_url())


def _summary(now: Snapshot) -> str:
    """Return the line on top: ``Online 3 · 8 of 16 slots busy · Versions: 1.0.0 (3)``."""
    live = now.live_workers
    if not live:
        return ""
    parts = [
        _("Online %(count)s") % {"count": len(live)},
        _("%(busy)s of %(slots)s slots busy") % {"busy": now.busy, "slots": now.slots},
        _("Versions: %(versions)s") % {"versions": _counted([worker.version or "?" for worker in live])},
    ]
    codes = {worker.code_version for worker in live}
    if len(codes) > 1:
        parts.append(_("Workers run %(count)s versions of your code.") % {"count": len(codes)})
    return " · ".join(parts)


def _counted(versions: Sequence[str]) -> str:
    return ", ".join(f"{legible.line(version)} ({count})" for version, count in Counter(versions).most_common())


def _returns(worker: Worker, tasks: int) -> str:
    said = ngettext("%(count)s task goes to another worker.", "%(count)s tasks go to another worker.", tasks)
    return said % {"count": tasks}
