"""What stands on top of each of our pages: the way to the others, and what is wrong right now."""

from typing import Any, NamedTuple

from django.apps import apps
from django.contrib.messages import get_messages
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.translation import gettext, pgettext_lazy

from django_locqueue import conf
from django_locqueue.admin.banners import Banner, banners
from django_locqueue.admin.live import refresh_choices
from django_locqueue.clock import DatabaseNow
from django_locqueue.models import Queue
from django_locqueue.observability.snapshot import Snapshot, snapshot
from django_locqueue.observability.stats import capped_text

# In groups: what is done, who does it and when, and what people do. Beside each the key that leads to it, after g.
GROUPS = (
    (
        ("locqueue.overview", "o"),
        ("locqueue.pendingtask", "p"),
        ("locqueue.runningtask", "r"),
        ("locqueue.failedtask", "f"),
        ("locqueue.retriedtask", "t"),
        ("locqueue.task", "a"),
        ("locqueue.workflow", ""),
    ),
    (("locqueue.queue", "q"), ("locqueue.worker", "w"), ("locqueue.schedule", "s"), ("locqueue.limit", "")),
    (("locqueue.activity", ""), ("locqueue.bulkoperation", "")),
    (("locqueue_accesslog.accesslog", ""),),
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
    key: str = ""
    begins_group: bool = False


class Strip:
    """Evaluated by the template: a request that only changes something pays nothing for it.

    ``refresh``: after how many seconds the page's regions are fetched anew, unless the person has chosen otherwise; 0:
    not by itself. None: the page has none.
    """

    def __init__(self, request: Any, admin_site: Any, current: str, refresh: int | None = None) -> None:
        self.request = request
        self.site = admin_site
        self.current = current
        self.refresh = refresh

    @cached_property
    def now(self) -> Snapshot:
        """The numbers of all pages. Who has just changed something is told so on this one, and sees what it did."""
        return snapshot(fresh=len(get_messages(self.request)) > 0)

    @cached_property
    def counts(self) -> dict[str, int]:
        return {
            "locqueue.pendingtask": self.now.pending,
            "locqueue.runningtask": self.now.running,
            "locqueue.failedtask": self.now.failed,
            "locqueue.retriedtask": self.now.retried,
        }

    @cached_property
    def links(self) -> list[Link]:
        found: list[Link] = []
        for group in GROUPS:
            begins = len(found)
            for label, key in group:
                found += self._links(label, key)
            if 0 < begins < len(found):
                found[begins] = found[begins]._replace(begins_group=True)
        return found

    def _links(self, label: str, key: str) -> list[Link]:
        app_label, name = label.split(".")
        model = apps.all_models.get(app_label, {}).get(name)
        if model is None or not self.site.is_registered(model):
            return []
        model_admin = self.site.get_model_admin(model)
        if not model_admin.has_view_permission(self.request):
            return []
        count = capped_text(self.counts[label]) if label in self.counts else ""
        further = [
            Link(page_label, self._url(view), "", page == self.current)
            for page, page_label, view in getattr(model_admin, "further_pages", ())
        ]
        url = self._url(f"{app_label}_{name}_changelist")
        return [Link(short_name(model), url, count, label == self.current, key), *further]

    def _url(self, name: str) -> str:
        return reverse(f"admin:{name}", current_app=self.site.name)

    @cached_property
    def banners(self) -> list[Banner]:
        queues = [] if self.now.missing_migrations else queue_rows(self.request)
        return list(banners(self.request, self.site, self.now, queues))

    @property
    def refresh_choices(self) -> list[tuple[int, bool]] | None:
        return None if self.refresh is None else refresh_choices(self.refresh)

    @cached_property
    def loaded_at(self) -> str:
        return timezone.now().isoformat()

    @property
    def updated(self) -> Any:
        """When the page was made. Who listens to the page is not told each second how long ago that is."""
        return format_html('<time datetime="{}" aria-hidden="true">{}</time>', self.loaded_at, gettext("now"))

    @property
    def has_keys(self) -> bool:
        return bool(conf.admin.KEYBOARD)


def short_name(model: Any) -> Any:
    """Return the page's name in the strip: where all are tasks, the word is left out."""
    return SHORT_NAMES.get(model._meta.label_lower, model._meta.verbose_name_plural)


def queue_rows(request: Any) -> list[Any]:
    """Return the queues, read once for a request. A small table; the first of them if somebody made it large."""
    if not hasattr(request, "_locqueue_queues"):
        request._locqueue_queues = list(Queue.objects.with_pause(DatabaseNow()).order_by("name")[:MOST_QUEUES])
    rows: list[Any] = request._locqueue_queues
    return rows
