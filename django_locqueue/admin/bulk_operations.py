"""The list of bulk operations, the page of one, and the one that asks for a new one."""

from datetime import timedelta
from typing import Any

from django.contrib import admin, messages
from django.core import signing
from django.core.exceptions import BadRequest, PermissionDenied
from django.db import IntegrityError
from django.http import HttpResponseRedirect
from django.urls import path, reverse
from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from django_locqueue import conf
from django_locqueue.admin import moments
from django_locqueue.admin.activity_words import chosen
from django_locqueue.admin.badges import badge
from django_locqueue.admin.bulk_form import BulkForm, form_for
from django_locqueue.admin.bulk_links import PERMISSIONS
from django_locqueue.admin.bulk_request import Asked, preview
from django_locqueue.admin.change import Change
from django_locqueue.admin.changes import CHANGES, label_of
from django_locqueue.admin.live import live
from django_locqueue.admin.noting import note
from django_locqueue.admin.pages import list_of, page
from django_locqueue.admin.permissions import may
from django_locqueue.admin.plain_list import PlainListAdmin
from django_locqueue.admin.selection_words import groups_of, stored_words
from django_locqueue.admin.task_base import TaskPermissions
from django_locqueue.models import BulkOperation
from django_locqueue.observability.stats import capped_text
from django_locqueue.policies import legible, masking
from django_locqueue.statement_limit import TooSlow, statement_limit
from django_locqueue.store import get_store
from django_locqueue.store.bulk import MOST
from django_locqueue.verbs import BULK_PERMISSION, VERBS

REFRESH_SECONDS = 5
State = BulkOperation.State


@page(BulkOperation)
class BulkOperationAdmin(TaskPermissions, PlainListAdmin):
    view_permissions = ("locqueue.view_bulkoperation", BULK_PERMISSION)
    empty = gettext_lazy("Nobody has changed more than a page of tasks at once yet.")
    introduction = gettext_lazy("Changes to all tasks that match, made by the workers in the background.")
    ordering = ("-id",)
    list_per_page = 50
    list_display = (
        "what_column",
        "state_column",
        "progress_column",
        "where_column",
        "user_column",
        "reason_column",
        "asked_column",
    )

    def get_urls(self) -> list[Any]:
        page, stop = self.looked_at(live(self.page_view)), self.posted_to(self.stop_view)
        return [
            path("new/", self.admin_site.admin_view(self.new_view), name="locqueue_bulkoperation_new"),
            path("<int:operation_id>/change/", page, name="locqueue_bulkoperation_change"),
            path("<int:operation_id>/stop/", stop, name="locqueue_bulkoperation_stop"),
            *super().get_urls(),
        ]

    def complete(self, rows: list[Any]) -> None:
        groups = groups_of(operation.selection for operation in rows)
        for operation in rows:
            operation.words = stored_words(operation.selection, groups)

    def url(self, verb: str, *args: Any) -> str:
        return reverse(f"admin:locqueue_bulkoperation_{verb}", args=args, current_app=self.admin_site.name)

    # -- the list

    @admin.display(description=gettext_lazy("what"))
    def what_column(self, operation: BulkOperation) -> Any:
        return format_html(
            '<a href="{}">{}</a> <span class="lq-quiet">#{}</span>',
            self.url("change", operation.pk),
            legible.line(label_of(operation.verb)),
            operation.pk,
        )

    @admin.display(description=gettext_lazy("state"))
    def state_column(self, operation: BulkOperation) -> Any:
        return badge(f"bulk {operation.state}")

    @admin.display(description=gettext_lazy("progress"))
    def progress_column(self, operation: BulkOperation) -> Any:
        return counts_of(operation)

    @admin.display(description=gettext_lazy("which tasks"))
    def where_column(self, operation: Any) -> Any:
        return format_html('<div class="lq-line">{}</div>', operation.words)

    @admin.display(description=gettext_lazy("user"), empty_value="–")
    def user_column(self, operation: BulkOperation) -> str | None:
        return legible.line(operation.user_name) or None

    @admin.display(description=gettext_lazy("reason"), empty_value="–")
    def reason_column(self, operation: BulkOperation) -> str | None:
        return legible.line(masking.mask_text(operation.reason)) or None

    @admin.display(description=gettext_lazy("asked for"))
    def asked_column(self, operation: BulkOperation) -> Any:
        return moments.time_tag(operation.created_at)

    # -- asking for a new one

    def new_view(self, request: Any) -> Any:
        try:
            if request.method == "POST":
                asked = Asked.from_signed(request.POST.get("asked", ""))
            else:
                self.permit(request, CHANGES.get(request.GET.get("verb", "")))
                with statement_limit(get_store().alias, conf.admin.STATEMENT_SECONDS):
                    asked = Asked.of(request.GET.get("verb", ""), request.GET)
        except signing.BadSignature:
            return self.nothing_asked(request, _("Nothing was changed: this page was too old. Look at the list again."))
        except TooSlow:
            return self.nothing_asked(request, _("This search took too long. Narrow it by queue, task or time."))
        except ValueError as error:
            raise BadRequest(str(error)) from error
        change = asked.change
        self.permit(request, change)
        data = request.POST if request.method == "POST" else None
        form = form_for(change)(data, change=change, number=asked.found, now=asked.asked_at)
        if (asked.found or asked.is_cut) and form.is_valid():
            return self.begin(request, asked, form)
        numbers = {"count": asked.found, "number": asked.number_text}
        return self.ask(
            request,
            change.question % numbers,
            form,
            template="admin/locqueue/bulk_new.html",
            back=self.shown_url(request, asked),
            yes=change.yes % numbers,
            hidden=[("asked", asked.signed())],
            warning=change.warning,
            is_dangerous=change.is_dangerous,
            asked=asked,
            preview=preview(asked, self.admin_site.name),
            same=self.link_to(get_store().unfinished_bulk(change.verb.name, asked.selection)),
        )

    def nothing_asked(self, request: Any, why: str) -> Any:
        self.message_user(request, why, messages.WARNING)
        return HttpResponseRedirect(self.list_url())

    @staticmethod
    def permit(request: Any, change: Change | None) -> None:
        """Refuse whom the change is not permitted. An unknown verb is refused by its name."""
        if not may(request, [*PERMISSIONS, *([change.permission] if change else [])]):
            raise PermissionDenied

    def begin(self, request: Any, asked: Asked, form: BulkForm) -> Any:
        store, data = get_store(), form.cleaned_data
        verb = asked.change.verb.name
        sent_before = store.bulk_operations.filter(nonce=asked.nonce)
        operation = sent_before.first() or store.unfinished_bulk(verb, asked.selection, form.options)
        text = _("This is being done already.")
        if operation is None:
            try:
                with store.transaction():
                    operation = store.add_bulk(
                        verb,
                        asked.selection,
                        by=request.user.get_username(),
                        user_id=str(request.user.pk),
                        reason=data["reason"],
                        options=form.options,
                        matched=asked.matched,
                        most=data["most"] or MOST,
                        rate=data["rate"],
                        upper_id=asked.upper_id,
                        asked_at=asked.asked_at,
                        start_at=data["start_at"],
                        nonce=asked.nonce,
                    )
                    note(
                        request,
                        "bulk_start",
                        target=f"#{operation.pk}",
                        selection=operation.noted,
                        matched=operation.matched,
                        changed=0,
                        reason=operation.reason,
                    )
                is_capped = operation.most < asked.found
                number = grouped(operation.most) if is_capped else asked.number_text
                text = asked.change.begun % {"count": min(asked.found, operation.most), "number": number}
            except IntegrityError:  # the form was sent twice at once
                operation = sent_before.get()
        self.message_user(request, text, messages.SUCCESS)
        return HttpResponseRedirect(self.url("change", operation.pk))

    def shown_url(self, request: Any, asked: Asked) -> str:
        """Return the list that shows the tasks that are meant."""
        url = self.list_url(list_of(asked.selection.listing))
        query = request.GET.copy()
        for name in ("verb", "listing"):
            query.pop(name, None)
        return f"{url}?{query.urlencode()}" if query else url

    def link_to(self, operation: BulkOperation | None) -> str:
        return "" if operation is None else self.url("change", operation.pk)

    # -- the page of one

    def page_view(self, request: Any, operation_id: int) -> Any:
        operation = BulkOperation.objects.filter(pk=operation_id).first()
        if operation is None:
            return self.nothing_asked(request, _("Bulk operation #%(id)s does not exist.") % {"id": operation_id})
        now = get_store().now()
        return self.respond(
            request,
            "admin/locqueue/bulk_page.html",
            title=f"{legible.line(label_of(operation.verb))} #{operation.pk}",
            operation=operation,
            badge=badge(f"bulk {operation.state}"),
            counts=counts_of(operation),
            standing=standing_of(operation, now),
            changed=grouped(operation.changed),
            skipped=grouped(operation.skipped),
            conditions=stored_words(operation.selection),
            options=options_of(operation),
            most=grouped(operation.most) if operation.most < MOST else "",
            reason=legible.line(masking.mask_text(operation.reason)),
            stop_url=self.url("stop", operation.pk)
            if not operation.is_finished and self.may_stop(request, operation)
            else "",
            refresh=None if operation.is_finished else REFRESH_SECONDS,
        )

    def stop_view(self, request: Any, operation_id: int) -> Any:
        operation = BulkOperation.objects.filter(pk=operation_id).first()
        if operation is None or not self.may_stop(request, operation):
            raise PermissionDenied
        if get_store().stop_bulk(operation_id, by=request.user.get_username()):
            note(request, "bulk_stop", target=f"#{operation_id}", selection=operation.noted)
            self.message_user(request, _("The operation was stopped."), messages.SUCCESS)
        else:
            self.message_user(request, _("Nothing was changed: the operation had ended."), messages.WARNING)
        return HttpResponseRedirect(self.url("change", operation_id))

    @staticmethod
    def may_stop(request: Any, operation: BulkOperation) -> bool:
        """Who might have asked for it; not only who did: that person may be asleep."""
        verb = VERBS.get(operation.verb)
        return may(request, [*PERMISSIONS, *([verb.permission] if verb else [])])


def grouped(number: int) -> str:
    return str(number_format(number, force_grouping=True))


def options_of(operation: BulkOperation) -> list[str]:
    stored = operation.options if isinstance(operation.options, dict) else {}
    return list(map(legible.line, chosen(stored)))


def counts_of(operation: BulkOperation) -> Any:
    """Return how far it is, as a bar and in words."""
    done = operation.changed + operation.skipped
    if not operation.matched and not operation.is_finished:
        return grouped(done)  # nobody has counted yet
    most = max(1, min(operation.matched, operation.most))
    said = [_("%(done)s of %(all)s") % {"done": grouped(done), "all": capped_text(operation.matched, operation.most)}]
    if operation.skipped:
        said.append(_("%(number)s skipped") % {"number": grouped(operation.skipped)})
    return format_html(
        '<progress class="lq-progress" value="{}" max="{}"></progress> {}', min(done, most), most, " · ".join(said)
    )


def standing_of(operation: BulkOperation, now: Any) -> list[str]:
    """Return in words how fast it goes, when it ends or what it waits for, and how it has ended."""
    done = operation.changed + operation.skipped
    if operation.state == State.FAILED:
        return [_(operation.problem)]
    if operation.state == State.STOPPED:
        return [
            _("Stopped by %(user)s after %(number)s")
            % {"user": legible.line(operation.stopped_by) or "?", "number": grouped(done)}
        ]
    if operation.started_at is None:
        if operation.next_at > now:
            return [_("Begins %(time)s") % {"time": moments.distance(operation.next_at, now)}]
        return [_("Waiting for a worker")]
    if operation.finished_at is not None:
        said = [_("Took %(span)s") % {"span": moments.span(operation.finished_at - operation.started_at)}]
        if operation.matched > operation.most:
            said.append(_("More than %(number)s matched: the others were left.") % {"number": grouped(operation.most)})
        return said
    if operation.next_at < now - timedelta(seconds=10):  # whoever had it is gone
        return [_("Waiting for a worker")]
    speed = done / max(0.1, (now - operation.started_at).total_seconds())
    if not speed or not operation.matched:
        return []
    left = timedelta(seconds=max(0, min(operation.matched, operation.most) - done) / speed)
    return [
        _("%(number)s per second")
        % {"number": number_format(round(speed, 1 if speed < 10 else None), force_grouping=True)},
        _("about %(span)s left") % {"span": moments.span(left)},
    ]
