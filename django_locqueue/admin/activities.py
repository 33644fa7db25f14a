"""The list of what people changed. It is only read."""

from typing import Any, ClassVar

from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.translation import gettext_lazy as _

from django_locqueue.admin import moments
from django_locqueue.admin.activity_words import ON_ONE_TASK, OTHERS, counts, is_filter, what, where
from django_locqueue.admin.changes import CHANGES
from django_locqueue.admin.filters import PERIOD_LABELS, Offered, as_id
from django_locqueue.admin.pages import page
from django_locqueue.admin.plain_list import PlainListAdmin
from django_locqueue.admin.selection_words import groups_of
from django_locqueue.clock import DatabaseNow
from django_locqueue.models import Activity
from django_locqueue.policies import legible, masking
from django_locqueue.store.bulk import SOURCE
from django_locqueue.store.selection import PERIODS

VERB_LABELS = {
    **{change.verb.name: change.label for change in CHANGES.values() if change.name == change.verb.name},
    **OTHERS,
}
VERB_LABELS["prune"] = _("Deleted old tasks")
SOURCES = {"command": _("command"), SOURCE: _("bulk operation")}  # others are addresses


WINDOW = 100_000  # no index serves the filters: they look at the newest rows


def newest(queryset: Any) -> Any:
    last = queryset.order_by("-pk").values_list("pk", flat=True).first()
    return queryset.filter(pk__gt=(last or 0) - WINDOW)


class VerbFilter(Offered):
    title = _("what")
    parameter_name = "verb"

    def offered(self, request: Any, model_admin: Any) -> list[tuple[str, Any]]:
        return [(verb, str(label).rstrip(".。…")) for verb, label in VERB_LABELS.items()]

    def queryset(self, request: Any, queryset: Any) -> Any:
        return newest(queryset).filter(verb=self.value()) if self.value() else queryset


class PeriodFilter(admin.SimpleListFilter):
    title = _("time")
    parameter_name = "last"

    def lookups(self, request: Any, model_admin: Any) -> Any:
        return PERIOD_LABELS

    def queryset(self, request: Any, queryset: Any) -> Any:
        if self.value() not in PERIODS:
            return queryset
        return newest(queryset).filter(time__gte=DatabaseNow() - PERIODS[str(self.value())])


@page(Activity)
class ActivityAdmin(PlainListAdmin):
    empty = _("Nobody has changed anything yet.")
    introduction = _("What people changed, here and by commands.")
    ordering = ("-id",)
    list_per_page = 50
    list_filter: ClassVar[Any] = (VerbFilter, PeriodFilter)
    search_fields = ("user_name",)
    search_placeholder = _("user")
    search_help_text = _("Finds what a user did, by the whole name.")
    list_display = (
        "time_column",
        "user_column",
        "what_column",
        "where_column",
        "counts_column",
        "reason_column",
        "source_column",
    )
    lookups = frozenset({"verb", "last"})

    def get_search_results(self, request: Any, queryset: Any, search_term: str) -> tuple[Any, bool]:
        name = search_term.replace("\x00", "").strip()[:150]
        return (queryset.filter(user_name=name) if name else queryset), False

    def complete(self, rows: list[Any]) -> None:
        groups = groups_of(row.selection for row in rows)
        for row in rows:
            row.groups = groups

    @admin.display(description=_("time"))
    def time_column(self, activity: Activity) -> Any:
        return moments.time_tag(activity.time)

    @admin.display(description=_("user"))
    def user_column(self, activity: Activity) -> Any:
        return format_html(
            '<a href="?{}">{}</a>', urlencode({"q": activity.user_name}), legible.line(activity.user_name)
        )

    @admin.display(description=_("what"))
    def what_column(self, activity: Activity) -> str:
        return what(activity)

    @admin.display(description=_("where"), empty_value="–")
    def where_column(self, activity: Any) -> Any:
        if not (activity.target or activity.selection):
            return None
        return format_html("{} {}", self.target_of(activity), where(activity, activity.groups))

    def target_of(self, activity: Activity) -> Any:
        """Return the single object that was changed, as a link if it has a page of its own."""
        if is_filter(activity.selection):
            page_name = "bulkoperation"
        elif activity.verb in ON_ONE_TASK:
            page_name = "task"
        else:
            return legible.line(activity.target)
        pk = as_id(activity.target)
        if pk is None:
            return legible.line(activity.target)
        url = reverse(f"admin:locqueue_{page_name}_change", args=[pk], current_app=self.admin_site.name)
        return format_html('<a href="{}">#{}</a>', url, pk)

    @admin.display(description=_("changed/skipped"))
    def counts_column(self, activity: Activity) -> str:
        return counts(activity)

    @admin.display(description=_("reason"), empty_value="–")
    def reason_column(self, activity: Activity) -> str | None:
        return legible.line(masking.mask_text(activity.reason)) or None

    @admin.display(description=_("from"), empty_value="–")
    def source_column(self, activity: Activity) -> Any:
        return SOURCES.get(activity.source) or legible.line(activity.source) or None
