"""Adding a task by hand: a registered one, never an import path that somebody types."""

import logging
from typing import Any

from django.contrib import messages
from django.http import HttpResponseRedirect
from django.utils.translation import gettext as _

from django_locqueue import compat
from django_locqueue.admin.change_forms import REASON, CallForm, PriorityForm, QueueForm, TimeForm
from django_locqueue.admin.noting import note
from django_locqueue.admin.permissions import may
from django_locqueue.admin.schedule_page import sentence
from django_locqueue.exceptions import InvalidSchedule
from django_locqueue.models import Task
from django_locqueue.policies import legible, masking
from django_locqueue.scheduler.call import call_of, task_at
from django_locqueue.store import get_store

logger = logging.getLogger("django_locqueue")

PERMISSION = "locqueue.enqueue_task"


class EnqueueForm(CallForm, TimeForm, QueueForm, PriorityForm):
    field_order = ("task", "args", "kwargs", "queue_name", "priority", "run_after", REASON)

    def __init__(self, data: Any = None, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        queue = self.fields["queue_name"]
        queue.choices = [("", _("that of the task")), *queue.choices]  # type: ignore[attr-defined]
        for name in ("queue_name", "priority", "run_after"):
            self.fields[name].required = False

    def clean_run_after(self) -> Any:
        return None if self.cleaned_data["run_after"] is None else super().clean_run_after()

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        if self.errors:
            return values
        try:
            definition = task_at(values["task"])
            self.call = call_of(definition, **self.arguments())
        except InvalidSchedule as error:
            self.add_error(error.field if error.field in self.fields else None, sentence(error))
            return values
        names = ("queue_name", "priority", "run_after")
        try:
            self.definition = definition.using(
                **{name: values[name] for name in names if values[name] not in ("", None)}
            )
        except (compat.InvalidTask, ValueError) as error:
            self.add_error(None, legible.line(str(error)))
        return values

    def enqueue(self) -> Any:
        """Return the result of the new task; None: it was not added, and an error of the form says why."""
        try:
            with get_store().transaction():
                result = self.definition.get_backend().enqueue(self.definition, self.call["args"], self.call["kwargs"])
        except Exception as error:  # its queue is full, another holds its key, a hook refuses it
            problem = legible.line(masking.mask_text(str(error)))[:300]
            logger.warning("A task could not be added by hand: %s", problem)
            self.add_error(None, _("It was not added: %(problem)s") % {"problem": problem})
            return None
        if result.is_duplicate:
            self.add_error(None, _("It was not added: #%(id)s holds its unique key.") % {"id": result.id})
        elif result.is_dropped:
            self.add_error(None, _("It was not added: a hook of the project does not want it."))
        else:
            return result
        return None


def enqueue_view(model_admin: Any, request: Any) -> Any:
    """Show the form, and add the task that it asks for."""
    if not may(request, PERMISSION):
        return model_admin.refused(request, "enqueue_task")
    form = EnqueueForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid() and (result := form.enqueue()) is not None:
        # Not read back: a fast worker may have deleted it, where no results are kept.
        task = Task(pk=int(result.id), task_path=form.definition.module_path)
        reason = form.cleaned_data[REASON]
        said = " – ".join(filter(None, (_("Added by hand."), reason)))
        model_admin.log_addition(request, task, said)
        note(request, "enqueue", target=str(task.pk), reason=reason)
        text = _("“%(name)s” was added to the queue as #%(id)s.") % {"name": legible.line(task.name), "id": task.pk}
        model_admin.message_user(request, text, messages.SUCCESS)
        return HttpResponseRedirect(model_admin.task_url(task))
    return model_admin.respond(request, "admin/locqueue/enqueue.html", title=_("Add a task"), form=form)
