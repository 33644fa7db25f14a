"""The list of location services that had trouble, and until when each is left alone."""

from typing import Any

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from django_locqueue.accesslog.admin.read_only import EMPTY, ReadOnlyAdmin
from django_locqueue.accesslog.models import ProviderState
from django_locqueue.accesslog.visible import visible
from django_locqueue.admin import moments


@admin.register(ProviderState)
class ProviderStateAdmin(ReadOnlyAdmin):
    list_display = ("name", "state", "why", "failures", "next_call", "since")
    fields = list_display
    readonly_fields = list_display
    ordering = ("name",)
    sortable_by = ()

    @admin.display(description=_("trouble"))
    def state(self, row: ProviderState) -> Any:
        return row.get_trouble_display()

    @admin.display(description=_("reason"))
    def why(self, row: ProviderState) -> str:
        return visible(row.reason) or EMPTY

    @admin.display(description=_("not asked before"))
    def next_call(self, row: ProviderState) -> Any:
        return moments.time_tag(row.open_until)

    @admin.display(description=_("since"))
    def since(self, row: ProviderState) -> Any:
        return moments.time_tag(row.changed_at)
