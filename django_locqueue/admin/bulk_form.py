"""What is asked before all tasks that match are changed."""

from datetime import datetime
from typing import Any, cast

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from django_locqueue import clock
from django_locqueue.admin.change import Change
from django_locqueue.admin.change_forms import DATETIME, REASON, ReasonForm
from django_locqueue.store.bulk import MOST

TYPED_ABOVE = 1_000  # so many tasks are only changed when their number was typed
MOST_A_MINUTE = 1_000_000


class BulkForm(ReasonForm):
    """Stands before the form of a change, see :func:`form_for`, and asks when, how many and how fast."""

    start_at = forms.DateTimeField(
        label=gettext_lazy("start at"),
        required=False,
        widget=DATETIME,
        help_text=gettext_lazy("Leave it empty to start at once."),
    )
    most = forms.IntegerField(
        label=gettext_lazy("at most in all"),
        min_value=1,
        max_value=MOST,
        required=False,
        help_text=gettext_lazy("The first of the list are changed. Leave it empty to change all of them."),
    )
    rate = forms.IntegerField(
        label=gettext_lazy("at most per minute"),
        min_value=1,
        max_value=MOST_A_MINUTE,
        required=False,
        help_text=gettext_lazy("Leave it empty to go as fast as possible."),
    )
    fresh_attempts = forms.BooleanField(label=gettext_lazy("give them a fresh set of attempts"), required=False)
    typed = forms.CharField(
        label=gettext_lazy("type the number to confirm"),
        required=False,
        strip=True,
        widget=forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off", "size": 12}),
    )

    def __init__(self, data: Any, *, change: Change, number: int, now: datetime) -> None:
        super().__init__(data)
        self.change = change
        self.number = number
        self.now = now
        if "fresh_attempts" not in change.verb.takes:
            del self.fields["fresh_attempts"]
        if number <= TYPED_ABOVE:
            del self.fields["typed"]
        # What the change needs, and why; then how.
        own = [name for name in self.fields if name not in BulkForm.base_fields]
        self.order_fields([*own, REASON, *BulkForm.base_fields])

    def clean_typed(self) -> str:
        typed: str = self.cleaned_data["typed"]
        if "".join(filter(str.isdecimal, typed)) != str(self.number):
            raise forms.ValidationError(_("Type the number of tasks: %(number)s.") % {"number": self.number})
        return typed

    def clean_start_at(self) -> datetime | None:
        start_at = self.cleaned_data["start_at"]
        if start_at is None:
            return None
        if clock.storable(start_at) <= self.now:
            raise forms.ValidationError(_("This time has passed."))
        return clock.storable(start_at)

    @property
    def options(self) -> dict[str, Any]:
        verb = self.change.verb
        given = {name: self.cleaned_data.get(name) for name in (*verb.needs, *verb.takes)}
        return {name: self.as_json(value) for name, value in given.items() if value is not None and value is not False}


def form_for(change: Change) -> type[BulkForm]:
    """Return the form that also asks what the change needs."""
    return cast("type[BulkForm]", type("BulkFormOfChange", (BulkForm, change.form), {}))
