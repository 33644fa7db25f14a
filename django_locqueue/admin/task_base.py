"""What the lists of tasks have in common: read-only, in the order of an index, with the changes a person may make."""

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import BadRequest, PermissionDenied
from django.db.models import Case, Q, Value, When
from django.db.models.functions import Left, Right
from django.http import HttpResponseRedirect
from django.urls import path, reverse
from django.utils.html import format_html_join
from django.utils.http import urlencode
from django.utils.translation import gettext_lazy as _

from django_locqueue.admin import permissions, task_files
from django_locqueue.admin.change import Change, may
from django_locqueue.admin.changelist import Tab, TaskChangeList
from django_locqueue.admin.changes import CHANGES
from django_locqueue.admin.changing import ACTIONS, TaskChanging
from django_locqueue.admin.columns import LINE_LENGTH, TaskColumns
from django_locqueue.admin.filters import PARAMETERS, SEARCH, TAB, QueueFilter, as_id
from django_locqueue.admin.live import live
from django_locqueue.admin.page_base import ModelAdminBase, PageMixin, button
from django_locqueue.admin.paginator import CappedPaginator
from django_locqueue.admin.strip import Strip
from django_locqueue.clock import DatabaseNow
from django_locqueue.models import Task
from django_locqueue.models.task import PAYLOAD_COLUMNS
from django_locqueue.store import get_store
from django_locqueue.store.selection import Selection

EXPORT = "locqueue.export_data"
WIDE_COLUMNS = (*PAYLOAD_COLUMNS, "worker_ids")


class ReadOnly:
    """Nothing is added, edited or deleted by admin's own forms."""

    def has_add_permission(self, request: Any, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: Any, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: Any, obj: Any = None) -> bool:
        return False


class TaskPermissions(ReadOnly):
    """Asks for the permissions of the task, also on the proxies, which have none of their own."""

    view_permissions: tuple[str, ...] = ("locqueue.view_task",)  # any of them suffices

    def has_view_permission(self, request: Any, obj: Any = None) -> bool:
        return any(map(request.user.has_perm, self.view_permissions))

    def has_module_permission(self, request: Any) -> bool:
        return self.has_view_permission(request)

    def get_model_perms(self, request: Any) -> dict[str, bool]:
        return {"add": False, "change": False, "delete": False, "view": self.has_view_permission(request)}


class TaskAdminMixin(TaskPermissions, TaskColumns, TaskChanging, PageMixin):
    """A list of tasks. A page says what it shows by ``tabs``, and how by ``list_display``."""

    tabs: tuple[Tab, ...]
    row_changes: tuple[str, ...] = ()  # which have a button in each row
    introduction: Any = ""

    actions = ACTIONS
    change_list_template = "admin/locqueue/task_list.html"
    list_display_links = None
    list_filter: ClassVar[Any] = (QueueFilter,)
    list_max_show_all = 0
    list_per_page = 50
    paginator = CappedPaginator
    search_fields = ("id",)
    search_placeholder = _("id, task:name, queue:name")
    search_help_text = _(
        "A task’s id, or names that begin with your text: task:send queue:mail worker:web-1 error:OSError. "
        "A bare word is a task’s name."
    )
    show_facets = admin.ShowFacets.NEVER
    show_full_result_count = False
    sortable_by = ()

    def lookup_allowed(self, lookup: str, value: str, request: Any = None) -> bool:
        return lookup in PARAMETERS

    def current_tab(self, request: Any) -> Tab:
        return next((tab for tab in self.tabs if tab.name == request.GET.get(TAB)), self.tabs[0])

    def selection(self, request: Any) -> Selection:
        """Return which tasks the address asks for. Raises ValueError."""
        query = request.GET.dict()
        if as_id(query.get(SEARCH, "")):
            query.pop(SEARCH)  # which leads to the task itself
        return Selection.from_query(query, listing=self.current_tab(request).listing, now=get_store().now)

    def counted_besides(self) -> dict[str, Any]:
        """Return what is counted for the pages beside the tabs, by their names, in the order of an index."""
        return {}

    def further_tabs(self, request: Any, counts: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the pages beside the tabs: ``label``, ``url``, ``count``, ``is_current``. ``counts``: by name."""
        return []

    def pause_url(self, request: Any) -> str:
        """Return where a queue is paused; empty where that is not offered to the person."""
        is_offered = self.opts.model_name == "pendingtask" and permissions.may(request, "locqueue.pause_queue")
        return self.list_url("queue") if is_offered else ""

    def footer(self) -> Any:
        """Return what stands below the list."""
        return ""

    def top_line(self) -> Any:
        """Return what stands above the list."""
        return ""

    def empty_note(self, tab: Tab) -> Any:
        """Return what is said beside the tab's own words where it has no task."""
        return ""

    def export_url(self, request: Any) -> str | None:
        if not request.user.has_perm(EXPORT):
            return None
        return reverse(f"admin:locqueue_{self.opts.model_name}_export", current_app=self.admin_site.name)

    # -- rows

    def get_changelist(self, request: Any, **kwargs: Any) -> type[TaskChangeList]:
        return TaskChangeList

    def get_queryset(self, request: Any) -> Any:
        """Leave what may be large in the database, but for the beginning that a row shows."""
        rows = super().get_queryset(request)
        return rows.defer(*WIDE_COLUMNS).annotate(
            arguments_start=Left("args_kwargs", LINE_LENGTH), worker_ids_end=Right("worker_ids", LINE_LENGTH)
        )

    def get_search_results(self, request: Any, queryset: Any, search_term: str) -> tuple[Any, bool]:
        if not search_term:
            return queryset, False
        # An id that is some task's leads there before; what else is searched for is part of the selection.
        return (queryset.none() if as_id(search_term) else queryset), False

    def get_list_display(self, request: Any) -> Any:
        tab = self.current_tab(request)
        columns = tab.columns or self.list_display
        offered = [CHANGES[name] for name in self.row_changes if name in tab.changes and name in CHANGES]
        offered = [change for change in offered if may(request, change)]
        if not offered:
            return columns

        back = urlencode({"next": request.get_full_path()})

        @admin.display(description="", empty_value="")
        def buttons(task: Task) -> Any:
            return format_html_join(
                " ",
                "{}",
                (
                    (button(f"{self.change_url(change, task)}?{back}", change.label_for(task)),)
                    for change in offered
                    if change.is_offered(task)
                ),
            )

        return (*columns, buttons)

    def change_url(self, change: Change, task: Task) -> str:
        return reverse(f"admin:locqueue_task_{change.name}", args=[task.pk], current_app=self.admin_site.name)

    # -- addresses

    def get_urls(self) -> list[Any]:
        name = self.opts.model_name
        view = self.admin_site.admin_view
        return [
            path("", view(live(self.changelist_view)), name=f"locqueue_{name}_changelist"),
            path("<int:task_id>/change/", view(self.to_task_page), name=f"locqueue_{name}_change"),
            *self.get_file_urls(),
        ]

    def enqueue_url(self, request: Any) -> str:
        """Return where a task is added by hand; empty where that is not offered to the person."""
        if self.opts.model_name not in ("task", "pendingtask") or not permissions.may(request, "locqueue.enqueue_task"):
            return ""
        return reverse("admin:locqueue_task_enqueue", current_app=self.admin_site.name)

    def get_file_urls(self) -> list[Any]:
        """Return the addresses of the same list for other programs."""
        name = self.opts.model_name
        view = self.admin_site.admin_view
        return [
            path("export/", view(self.export_view), name=f"locqueue_{name}_export"),
            path("data.json", view(self.data_view), name=f"locqueue_{name}_data"),
        ]

    def export_view(self, request: Any) -> Any:
        if not request.user.has_perm(EXPORT):
            raise PermissionDenied
        return task_files.csv_response(self, request)

    def data_view(self, request: Any) -> Any:
        return task_files.json_response(self, request)

    def to_task_page(self, request: Any, task_id: int) -> Any:
        """A task has one page, wherever it is listed: it may be in another list by the time one looks."""
        return HttpResponseRedirect(self.task_url(Task(pk=task_id)))

    def changelist_view(self, request: Any, extra_context: Any = None) -> Any:
        if request.method == "POST":
            for name in request.POST.getlist("action"):
                if name in CHANGES and not may(request, CHANGES[name]):
                    return self.refused(request, CHANGES[name].codename)
            if not all(as_id(text) for text in request.POST.getlist(ACTION_CHECKBOX_NAME)):
                raise BadRequest("What is ticked must be ids of tasks.")
        elif self.has_view_permission(request):
            task_id = as_id(request.GET.get("q", ""))
            if task_id and Task.objects.filter(pk=task_id).exists():
                return HttpResponseRedirect(self.task_url(Task(pk=task_id)))
        return super().changelist_view(
            request,
            {
                "title": self.opts.verbose_name_plural,
                "introduction": self.introduction,
                "enqueue_url": self.enqueue_url(request),
                "pause_url": self.pause_url(request),
                "top_line": self.top_line,
                "footer": self.footer,
                "empty_note": partial(self.empty_note, self.current_tab(request)),
                "empty_name": self.opts.verbose_name,
                "is_id": bool(as_id(request.GET.get(SEARCH, ""))),
                "lq": Strip(request, self.admin_site, self.opts.label_lower, refresh=self.current_tab(request).refresh),
                **(extra_context or {}),
            },
        )


class TaskAdminBase(TaskAdminMixin, ModelAdminBase):
    """The mixin on the project's ModelAdmin."""


def with_worker(rows: Any) -> Any:
    """Join the worker of each running task, and say by the database's clock whether it still answers."""
    lost = Q(worker__lease_until__lte=DatabaseNow()) | Q(worker__stopped_at__isnull=False)
    lost |= Q(worker__name__isnull=True, worker_id__isnull=False)  # its row is gone
    return rows.select_related("worker").annotate(
        worker_is_lost=Case(When(lost, then=Value(True)), default=Value(False))
    )
