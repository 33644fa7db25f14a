"""How changes are made to ticked rows and to one task: permission, question, the store's verb, and what is noted of it.

What is done is in the store's hands; the list's queryset is not used.
"""

from collections.abc import Callable, Sequence
from functools import partialmethod
from typing import Any, ClassVar

from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.models import LogEntry
from django.core.exceptions import BadRequest
from django.http import HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _

from django_locqueue.admin.change import Change, asker_of, may, refusal
from django_locqueue.admin.change_forms import ReasonForm, sent
from django_locqueue.admin.changes import CHANGES
from django_locqueue.admin.filters import as_id
from django_locqueue.admin.noting import note
from django_locqueue.models import Task
from django_locqueue.policies import legible
from django_locqueue.store import get_store
from django_locqueue.verbs import Applied


class TaskChanging:
    """To be mixed into a model admin of tasks."""

    admin_site: Any
    ask: Any
    message_user: Any
    current_tab: Any
    list_per_page: ClassVar[int]
    task_url: Callable[[Task], str]
    list_url: Any

    def offers(self, request: Any, name: str) -> bool:
        """Whether the change makes sense for what is listed, and the person may make it."""
        return name in self.current_tab(request).changes and may(request, CHANGES[name])

    def refused(self, request: Any, codename: str) -> TemplateResponse:
        """Say which permission is missing. Django's own page for 403 would not."""
        request.current_app = self.admin_site.name
        context = {**self.admin_site.each_context(request), "title": _("Not permitted"), "refusal": refusal(codename)}
        return TemplateResponse(request, "admin/locqueue/refused.html", context, status=403)

    def change_ticked(self, request: Any, change: Change) -> Any:
        ticked = [as_id(text) for text in request.POST.getlist(ACTION_CHECKBOX_NAME)]
        ids = sorted({task_id for task_id in ticked if task_id})
        if len(ids) > self.list_per_page:
            raise BadRequest(f"A page has {self.list_per_page} tasks. More are changed by a bulk operation.")
        form = sent(request, change.form) if change.asks else None
        if form is not None and not form.is_valid():
            return self.confirmation(request, change, form, ids, request.get_full_path())
        changed = self.make(request, change, ids, form)
        worked = bool(changed.done or changed.asked)
        said = change.sentences(changed, len(ids))
        if said:
            self.message_user(request, said, messages.SUCCESS if worked else messages.WARNING)
        return None

    def change_one_view(self, request: Any, task_id: int, change: Change) -> Any:
        if not may(request, change):
            return self.refused(request, change.codename)
        back = self.back_url(request, task_id, change)
        form = sent(request, change.form) if change.asks else None
        if form is not None and not form.is_valid():
            return self.confirmation(request, change, form, [task_id], back)
        changed = self.make(request, change, [task_id], form)
        if changed.made:
            path = Task.objects.filter(pk=task_id).values_list("task_path", flat=True).first() or ""
            copy = Task(pk=changed.made[0], task_path=path)  # not read back: it may have run and be gone
            said = _("“%(name)s” was added to the queue as #%(id)s.")
            self.message_user(request, said % {"name": legible.line(copy.name), "id": copy.pk}, messages.SUCCESS)
            return HttpResponseRedirect(self.task_url(copy))
        if changed.done or changed.asked:
            self.message_user(request, change.sentences(changed, 1), messages.SUCCESS)
        else:
            state = Task.objects.filter(pk=task_id).values_list("state", flat=True).first()
            self.message_user(request, str(change.why_not(state)), messages.WARNING)
        return HttpResponseRedirect(back)

    def make(self, request: Any, change: Change, ids: Sequence[int], form: ReasonForm | None) -> Applied:
        """Make the change, and write down who did what to which tasks."""
        asker, options = asker_of(request), {} if form is None else form.options
        found = {task.pk: task for task in Task.objects.only("id", "task_path").filter(pk__in=ids)}
        changed = change.apply(get_store(), ids, asker, options)
        for some, logged in ((changed.done, change.logged), (changed.asked, _("Asked to stop."))):
            if rows := [found.get(pk) or Task(pk=pk) for pk in some]:
                said = " – ".join(filter(None, (str(logged), asker.reason)))
                LogEntry.objects.log_actions(request.user.pk, rows, change.log_flag, change_message=said)
        count = len(changed.done) + len(changed.asked)
        if count:
            selection = {} if len(ids) == 1 else {"ids": list(ids)}
            note(
                request,
                change.verb.name,
                target=str(ids[0]) if len(ids) == 1 else "",
                selection={**selection, **({"options": options} if options else {})} or None,
                matched=len(ids),
                changed=count,
                skipped=len(ids) - count,
                reason=asker.reason,
            )
        return changed

    def confirmation(self, request: Any, change: Change, form: ReasonForm, ids: list[int], back: str) -> Any:
        examples = Task.objects.filter(pk__in=ids[:10]).only("id", "task_path", "state", "attempt").order_by("id")
        numbers = {"count": len(ids), "number": len(ids)}
        return self.ask(
            request,
            change.question % numbers,
            form,
            back=back,
            yes=change.yes % numbers,
            hidden=[("action", change.name), *((ACTION_CHECKBOX_NAME, str(task_id)) for task_id in ids)],
            warning=change.warning,
            examples=[(self.task_url(task), task) for task in examples],
            more=max(0, len(ids) - 10),
            is_dangerous=change.is_dangerous,
        )

    def back_url(self, request: Any, task_id: int, change: Change) -> str:
        """Return where the person came from, if that is a page of this site."""
        wanted: str = request.GET.get("next", "")
        page = self.task_url(Task(pk=task_id))
        is_ours = wanted.startswith("/") and url_has_allowed_host_and_scheme(
            wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
        )
        if not is_ours:
            wanted = page
        return self.list_url("task") if change.name == "delete" and wanted.startswith(page) else wanted


def action_of(change: Change) -> Any:
    """Return the admin action that makes a change to the ticked rows."""

    def action(model_admin: TaskChanging, request: Any, queryset: Any) -> Any:
        return model_admin.change_ticked(request, change)

    action.__name__ = change.name
    action.short_description = change.label  # type: ignore[attr-defined]
    action.allowed_permissions = [f"make_{change.name}"]  # type: ignore[attr-defined]
    return action


ACTIONS = tuple(action_of(change) for change in CHANGES.values())
for _change in CHANGES.values():
    setattr(TaskChanging, f"has_make_{_change.name}_permission", partialmethod(TaskChanging.offers, name=_change.name))
