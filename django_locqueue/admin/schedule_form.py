"""The form for a schedule that a person makes: of a registered task, never of an import path."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponseRedirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from django_locqueue.admin.change_forms import WIDE, CallForm
from django_locqueue.admin.noting import note
from django_locqueue.admin.schedule_page import next_runs, sentence
from django_locqueue.exceptions import InvalidSchedule
from django_locqueue.models import Schedule
from django_locqueue.models.task import NAME_LENGTH
from django_locqueue.policies import legible, masking
from django_locqueue.scheduler.cron import LONGEST
from django_locqueue.scheduler.planned import planned
from django_locqueue.scheduler.rule import LONGEST_SECONDS, zone_of
from django_locqueue.scheduler.words import words
from django_locqueue.store import get_store


class ScheduleForm(CallForm):
    name = forms.CharField(label=gettext_lazy("name"), max_length=NAME_LENGTH, widget=WIDE)
    cron = forms.CharField(
        label=gettext_lazy("cron rule"),
        max_length=LONGEST,
        required=False,
        widget=WIDE,
        help_text=gettext_lazy("Minute, hour, day of month, month, day of week: 0 3 * * * is every day at three."),
    )
    every = forms.IntegerField(
        label=gettext_lazy("or every … seconds"), required=False, min_value=1, max_value=LONGEST_SECONDS
    )
    timezone = forms.CharField(
        label=gettext_lazy("time zone"),
        required=False,
        max_length=64,
        help_text=gettext_lazy("Empty: the time zone of the project."),
    )
    missed = forms.ChoiceField(
        label=gettext_lazy("missed runs"),
        choices=Schedule.Missed.choices,
        help_text=gettext_lazy(
            "Runs that no worker was there for. Once: one run for all of them. Skip: none. All: each, 100 at most."
        ),
    )
    enabled = forms.BooleanField(label=gettext_lazy("on"), required=False, initial=True)

    field_order = ("name", "task", "cron", "every", "timezone", "missed", "args", "kwargs", "enabled")

    def __init__(self, schedule: Schedule | None, data: Any = None) -> None:
        self.schedule = schedule
        super().__init__(data, initial=None if schedule is None else _initial(schedule))
        if schedule is not None and masking.mask(schedule.args_kwargs) != schedule.args_kwargs:
            for name in ("args", "kwargs"):
                self.fields[name].disabled = True
                self.fields[name].help_text = _("Hidden values cannot be edited. Make another schedule instead.")

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"])
        others = Schedule.objects.filter(name=name)
        if self.schedule is not None:
            others = others.exclude(pk=self.schedule.pk)
        if not name.isprintable():
            raise forms.ValidationError(_("Use printable characters only."))
        if others.exists():
            raise forms.ValidationError(_("There is a schedule of this name already."))
        return name

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        if self.errors:
            return values
        schedule = self.made()
        try:
            self.plan = planned(schedule, get_store().now())
        except InvalidSchedule as error:
            self.add_error(error.field if error.field in self.fields else None, sentence(error))
        return values

    def made(self) -> Schedule:
        """Return the row that the values make, not saved."""
        values = self.cleaned_data
        if self.fields["args"].disabled and self.schedule is not None:
            call = self.schedule.args_kwargs
        else:
            call = self.arguments()
        try:
            timezone = zone_of(values["timezone"]).key
        except InvalidSchedule:
            timezone = values["timezone"]  # `planned` says it
        return Schedule(
            pk=None if self.schedule is None else self.schedule.pk,
            name=values["name"],
            task_path=values["task"],
            args_kwargs=call,
            cron=" ".join(values["cron"].split()),
            every=values["every"],
            timezone=timezone,
            missed=values["missed"],
            enabled=values["enabled"],
        )

    def columns(self) -> dict[str, Any]:
        made = self.made()
        names = ("name", "task_path", "args_kwargs", "cron", "every", "timezone", "missed", "enabled")
        columns = {name: getattr(made, name) for name in names}
        return {**columns, "problem": "", "next_at": self.plan.next_at if made.enabled else None}


def _initial(schedule: Schedule) -> dict[str, Any]:
    call = masking.mask(schedule.args_kwargs)
    call = call if isinstance(call, dict) else {}
    return {
        "name": schedule.name,
        "task": schedule.task_path,
        "cron": schedule.cron,
        "every": schedule.every,
        "timezone": schedule.timezone,
        "missed": schedule.missed,
        "args": call.get("args", []),
        "kwargs": call.get("kwargs", {}),
        "enabled": schedule.enabled,
    }


def form_view(model_admin: Any, request: Any, schedule: Schedule | None) -> Any:
    """Add or edit a schedule; ``preview`` shows the next runs and saves nothing."""
    form = ScheduleForm(schedule, request.POST if request.method == "POST" else None)
    is_valid = form.is_bound and form.is_valid()
    if is_valid and "preview" not in request.POST:
        saved = get_store().save_schedule(None if schedule is None else schedule.pk, form.columns())
        if schedule is None:
            model_admin.log_addition(request, saved, _("Added."))
        else:
            model_admin.log_change(request, saved, _("Changed."))
        note(request, "schedule_add" if schedule is None else "schedule_change", target=saved.name)
        text = _("“%(name)s” was saved.") % {"name": legible.line(saved.name)}
        model_admin.message_user(request, text, messages.SUCCESS)
        return HttpResponseRedirect(model_admin.url("change", saved))
    previewed = form.made() if is_valid else schedule
    return model_admin.respond(
        request,
        "admin/locqueue/schedule_form.html",
        title=_("Add a schedule") if schedule is None else legible.line(schedule.name),
        form=form,
        words="" if previewed is None else legible.line(words(previewed.cron, previewed.every)),
        next_runs=[] if previewed is None else next_runs(previewed.cron, previewed.every, previewed.timezone),
    )
