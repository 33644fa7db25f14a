"""What stands on top of each of our pages: the way to the others, and what is wrong right now."""

from typing import Any, NamedTuple

from django.apps import apps
from django.contrib.admin.utils import quote
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.translation import pgettext_lazy

from django_locqueue.admin.permissions import may
from django_locqueue.clock import DatabaseNow
from django_locqueue.models import Queue, Task, Worker, orderings
from django_locqueue.observability.stats import capped_counts, capped_text

PAGES = (
    "locqueue.pendingtask",
    "locqueue.runningtask",
    "locqueue.failedtask",
    "locqueue.retriedtask",
    "locqueue.task",
    "locqueue.workflow",
    "locqueue.queue",
    "locqueue.limit",
    "locqueue.worker",
    "locqueue.schedule",
    "locqueue.bulkoperation",
    "locqueue.activity",
    "locqueue_accesslog.accesslog",
)
SHORT_NAMES = {
    "locqueue.pendingtask": pgettext_lazy("tasks", "Pending"),
    "locqueue.runningtask": pgettext_lazy("tasks", "Running"),
    "locqueue.failedtask": pgettext_lazy("tasks", "Failed"),
    "locqueue.retriedtask": pgettext_lazy("tasks", "Retried"),
    "locqueue.task": pgettext_lazy("tasks", "All"),
}
MOST_QUEUES = 200


class Link(NamedTuple):
    label: Any
    url: str
    count_text: str
    is_current: bool


class Strip:
    """Evaluated by the template: a request that only changes something pays nothing for it."""

    def __init__(self, request: Any, admin_site: Any, current: str) -> None:
        self.request = request
        self.site = admin_site
        self.current = current

    @cached_property
    def counts(self) -> dict[str, int]:
        return capped_counts(
            {
                "ready": Task.objects.ready().order_by(*orderings.READY),
                "scheduled": Task.objects.scheduled().order_by(*orderings.SCHEDULED),
                "limited": Task.objects.limited().order_by(*orderings.LIMITED),
                "locqueue.runningtask": Task.objects.running().order_by(*orderings.RUNNING),
                "locqueue.failedtask": orderings.in_finished_index(Task.objects.failed()).order_by(*orderings.FINISHED),
                "locqueue.retriedtask": Task.objects.retried().order_by(*orderings.NEWEST),
                "workers": Worker.objects.live(DatabaseNow()),
            }
        )

    @cached_property
    def links(self) -> list[Link]:
        counts = {label: count for label, count in self.counts.items() if "." in label}
        counts["locqueue.pendingtask"] = sum(self.counts[name] for name in ("ready", "scheduled", "limited"))
        found = []
        for label in PAGES:
            app_label, name = label.split(".")
            model = apps.all_models.get(app_label, {}).get(name)
            if model is None or not self.site.is_registered(model):
                continue
            model_admin = self.site.get_model_admin(model)
            if not model_admin.has_view_permission(self.request):
                continue
            url = reverse(f"admin:{app_label}_{name}_changelist", current_app=self.site.name)
            count = capped_text(counts[label]) if label in counts else ""
            found.append(Link(short_name(model), url, count, label == self.current))
            for page, page_label, view in getattr(model_admin, "further_pages", ()):
                page_url = reverse(f"admin:{view}", current_app=self.site.name)
                found.append(Link(page_label, page_url, "", page == self.current))
        return found

    @property
    def no_worker(self) -> bool:
        return not self.counts["workers"]

    @cached_property
    def paused_queues(self) -> list[tuple[Any, str]]:
        return [(queue, self.resume_url(queue)) for queue in queue_rows(self.request) if queue.is_paused]

    def resume_url(self, queue: Queue) -> str:
        return reverse("admin:locqueue_queue_resume", args=[quote(queue.name)], current_app=self.site.name)

    @property
    def may_resume(self) -> bool:
        return may(self.request, "locqueue.pause_queue")


def short_name(model: Any) -> Any:
    """Return the page's name in the strip: where all are tasks, the word is left out."""
    return SHORT_NAMES.get(model._meta.label_lower, model._meta.verbose_name_plural)


def queue_rows(request: Any) -> list[Any]:
    """Return the queues, read once for a request. A small table; the first of them if somebody made it large."""
    if not hasattr(request, "_locqueue_queues"):
        request._locqueue_queues = list(Queue.objects.with_pause(DatabaseNow()).order_by("name")[:MOST_QUEUES])
    rows: list[Any] = request._locqueue_queues
    return rows
