"""The list of location services that something is, or was, wrong with."""

from typing import Any

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from django_locqueue.accesslog.admin.read_only import EMPTY, ReadOnlyAdmin
from django_locqueue.accesslog.models import ProviderState
from django_locqueue.accesslog.visible import visible
from django_locqueue.admin import moments
from django_locqueue.admin.pages import page


@page(ProviderState)
class ProviderStateAdmin(ReadOnlyAdmin):
    """To delete a row lets all workers ask the service at once."""

    list_display = ("name", "trouble", "words", "failures", "closed_until", "since")
    fields = list_display
    readonly_fields = list_display
    ordering = ("name",)
    sortable_by = ()

    @admin.display(description=_("reason"), empty_value=EMPTY)
    def words(self, row: ProviderState) -> str | None:
        return visible(row.reason) or None

    @admin.display(description=_("not asked before"), empty_value=EMPTY)
    def closed_until(self, row: ProviderState) -> Any:
        return moments.time_tag(row.open_until)

    @admin.display(description=_("since"))
    def since(self, row: ProviderState) -> Any:
        return moments.time_tag(row.changed_at)
