"""What is asked before all tasks that match are changed."""

from datetime import datetime
from typing import Any

from django import forms
from django.utils.translation import gettext as _

from django_locqueue import clock, registry
from django_locqueue.models import Queue
from django_locqueue.models.activity import REASON_LENGTH
from django_locqueue.policies import legible
from django_locqueue.verbs import Verb

TYPED_ABOVE = 1_000  # so many tasks are only changed when their number was typed
MOST_A_MINUTE = 1_000_000
MOST_QUEUES = 200


class BulkForm(forms.Form):
    """Has the options of its verb, and the number of tasks if there are many."""

    reason = forms.CharField(max_length=REASON_LENGTH, required=False, strip=True)
    start = forms.ChoiceField(choices=[("now", ""), ("at", "")], required=False)
    start_at = forms.DateTimeField(required=False)
    rate = forms.IntegerField(min_value=1, max_value=MOST_A_MINUTE, required=False)
    fresh_attempts = forms.BooleanField(required=False)
    run_after = forms.DateTimeField(required=False)
    queue_name = forms.ChoiceField(required=False)  # not typed: to a misspelt queue no worker listens
    priority = forms.IntegerField(required=False)
    typed = forms.CharField(required=False, strip=True)

    def __init__(self, data: Any, *, verb: Verb, number: int, now: datetime) -> None:
        super().__init__(data)
        self.verb = verb
        self.number = number
        self.now = now
        for name in ("fresh_attempts", "run_after", "queue_name", "priority"):
            if name not in (*verb.needs, *verb.takes) or (name == "run_after" and name not in verb.needs):
                del self.fields[name]
            elif name in verb.needs:
                self.fields[name].required = True
        if "queue_name" in self.fields:
            self.fields["queue_name"].choices = _queue_choices()  # type: ignore[attr-defined]
        if not self.asks_for_number:
            del self.fields["typed"]

    @property
    def asks_for_number(self) -> bool:
        return self.number > TYPED_ABOVE

    def clean_typed(self) -> str:
        typed: str = self.cleaned_data["typed"]
        if "".join(filter(str.isdecimal, typed)) != str(self.number):
            raise forms.ValidationError(_("Type the number of tasks: %(number)s.") % {"number": self.number})
        return typed

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if cleaned.get("start") == "at" and not self.errors.get("start_at"):
            start_at = cleaned.get("start_at")
            if start_at is None or clock.storable(start_at) <= self.now:
                self.add_error("start_at", _("Give a time to come."))
        if not self.errors:
            try:
                self.verb.checked(self.options)
            except ValueError as error:
                self.add_error(self.verb.needs[0] if self.verb.needs else None, str(error))
        return cleaned

    @property
    def start_time(self) -> datetime | None:
        return clock.storable(self.cleaned_data["start_at"]) if self.cleaned_data.get("start") == "at" else None

    @property
    def options(self) -> dict[str, Any]:
        """Return the verb's options as JSON has them."""
        names = (*self.verb.needs, *self.verb.takes)
        given = {
            name: value for name in names if (value := self.cleaned_data.get(name)) is not None and value is not False
        }
        return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in given.items()}


def _queue_choices() -> list[tuple[str, str]]:
    names = set(Queue.objects.order_by("name").values_list("name", flat=True)[:MOST_QUEUES])
    for backend in registry.our_backends():
        names |= set(backend.queues)
    return [(name, legible.line(name)) for name in sorted(names)]
