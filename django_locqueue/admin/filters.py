"""Filters whose choices are never read from the task table."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.utils.translation import gettext_lazy as _

from django_locqueue.admin.strip import queue_rows
from django_locqueue.models import State, orderings
from django_locqueue.policies import legible


class QueueFilter(admin.SimpleListFilter):
    title = _("queue")
    parameter_name = "queue"

    def lookups(self, request: Any, model_admin: Any) -> list[tuple[str, str]]:
        names = [queue.name for queue in queue_rows(request)]
        # One that no worker has served yet has no row; without this choice admin would leave the filter out.
        asked_for = request.GET.get(self.parameter_name)
        if asked_for and asked_for not in names:
            names.append(asked_for)
        return [(name, legible.line(name)) for name in names]

    def queryset(self, request: Any, queryset: Any) -> Any:
        return queryset.filter(queue_name=self.value()) if self.value() else queryset


class StateFilter(admin.SimpleListFilter):
    title = _("state")
    parameter_name = "state"

    def lookups(self, request: Any, model_admin: Any) -> list[tuple[str, Any]]:
        return [(state.value, state.label) for state in State if state is not State.BLOCKED]

    def queryset(self, request: Any, queryset: Any) -> Any:
        if not self.value():
            return queryset
        if self.value() not in State.values:
            raise IncorrectLookupParameters
        return orderings.with_state(queryset, self.value() or "")


class Unlisted(admin.SimpleListFilter):
    """A parameter of the address that is no filter in the side bar. Admin only knows parameters by filters."""

    title = ""

    def lookups(self, request: Any, model_admin: Any) -> list[tuple[str, str]]:
        return [("", "")]


class TabFilter(Unlisted):
    parameter_name = "tab"

    def queryset(self, request: Any, queryset: Any) -> Any:
        return queryset  # the change list applies the tab, which is in force without the parameter too


class WorkflowFilter(Unlisted):
    """The tasks of one workflow, which an index holds in their order: a tab of its own."""

    parameter_name = "workflow"

    def queryset(self, request: Any, queryset: Any) -> Any:
        if self.value() and not str(self.value()).isdecimal():
            raise IncorrectLookupParameters
        return queryset  # as for the tab


class BehindFilter(Unlisted):
    """What comes after a given task, for lists that are longer than the paginator counts."""

    parameter_name = "behind"

    def __init__(self, request: Any, params: Any, model: Any, model_admin: Any) -> None:
        super().__init__(request, params, model, model_admin)
        self.ordering = model_admin.current_tab(request).ordering
        self.rows = model._default_manager

    def queryset(self, request: Any, queryset: Any) -> Any:
        if not self.value():
            return queryset
        if not str(self.value()).isdecimal():
            raise IncorrectLookupParameters
        row = self.rows.filter(pk=int(self.value() or 0)).values(*orderings.names(self.ordering)).first()
        if row is None or None in row.values():
            return queryset.none()  # it is gone, or in another list by now
        return queryset.filter(orderings.behind(self.ordering, row))
