"""What a person is asked before a change: a reason, and what the change needs. The values go to its verb as JSON."""

from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from django_locqueue import compat, registry
from django_locqueue.models import Queue
from django_locqueue.models.activity import REASON_LENGTH
from django_locqueue.policies import legible
from django_locqueue.store import get_store

MOST_QUEUES = 200
REASON = "reason"
WIDE = forms.TextInput(attrs={"class": "vTextField"})
DATETIME = forms.DateTimeInput(attrs={"type": "datetime-local", "step": "1"})


def sent(request: Any, form: type[Any]) -> Any:
    """Return the form, filled in if the person has sent it: the page that asks has a field that says so."""
    return form(request.POST if request.POST.get("confirmed") == "yes" else None)


class ReasonField(forms.CharField):
    def to_python(self, value: Any) -> str:
        return str(super().to_python(value)).replace("\x00", "")


class ReasonForm(forms.Form):
    """A change that only asks why. Further fields of a subclass are options of the verb, by name."""

    reason = ReasonField(
        label=gettext_lazy("reason"),
        required=False,
        max_length=REASON_LENGTH,
        widget=WIDE,
        help_text=gettext_lazy("Shown in Activity."),
    )

    def __init__(self, data: Any = None, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self.order_fields([*(name for name in self.fields if name != REASON), REASON])

    @property
    def options(self) -> dict[str, Any]:
        """The options that a valid form gives, as JSON."""
        return {name: self.as_json(value) for name, value in self.cleaned_data.items() if name != REASON}

    @staticmethod
    def as_json(value: Any) -> Any:
        return value.isoformat() if hasattr(value, "isoformat") else value


class TimeForm(ReasonForm):
    run_after = forms.DateTimeField(label=gettext_lazy("time"), widget=DATETIME)

    def __init__(self, data: Any = None, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self.fields["run_after"].help_text = _("In the time zone %(zone)s.") % {
            "zone": timezone.get_current_timezone_name()
        }

    def clean_run_after(self) -> Any:
        run_after = self.cleaned_data["run_after"]
        if run_after <= get_store().now():
            raise forms.ValidationError(_("This time has passed."))
        return run_after


class QueueForm(ReasonForm):
    queue_name = forms.ChoiceField(label=gettext_lazy("queue"))

    def __init__(self, data: Any = None, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        # Not typed: to a misspelt queue no worker listens.
        self.fields["queue_name"].choices = queue_choices()  # type: ignore[attr-defined]


class PriorityForm(ReasonForm):
    priority = forms.IntegerField(
        label=gettext_lazy("priority"),
        min_value=compat.TASK_MIN_PRIORITY,
        max_value=compat.TASK_MAX_PRIORITY,
        help_text=gettext_lazy("From -100 to 100. Higher ones run first; 0 is usual."),
    )


class CallForm(forms.Form):
    """A call of a registered task, never of an import path that somebody types."""

    task = forms.ChoiceField(label=gettext_lazy("task"))
    args = forms.JSONField(label=gettext_lazy("arguments, a list"), required=False, widget=WIDE, initial=list)
    kwargs = forms.JSONField(label=gettext_lazy("arguments by name"), required=False, widget=WIDE, initial=dict)

    def __init__(self, data: Any = None, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self.fields["task"].choices = [("", "---------"), *task_choices()]  # type: ignore[attr-defined]

    def arguments(self) -> dict[str, Any]:
        """Return ``args`` and ``kwargs``; what was left empty is none."""
        args, kwargs = (self.cleaned_data.get(name) for name in ("args", "kwargs"))
        return {"args": [] if args is None else args, "kwargs": {} if kwargs is None else kwargs}


def task_choices() -> list[tuple[str, str]]:
    """Return the registered tasks whose calls are stored in this queue."""
    registry.autodiscover()
    database = get_store().alias
    ours = {backend.alias for backend in registry.our_backends() if backend.database == database}
    return [(path, path) for path, each in registry.definitions().items() if each.backend in ours]


def queue_choices() -> list[tuple[str, str]]:
    """Return the queues that are known: those with a row, and those that the settings name."""
    names = set(Queue.objects.order_by("name").values_list("name", flat=True)[:MOST_QUEUES])
    for backend in registry.our_backends():
        names |= set(backend.queues)
    return [(name, legible.line(name)) for name in sorted(names)]
