"""What running tasks say of themselves, stored while they run."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from django.db.models import Case, CharField, F, FloatField, TextField, Value, When

from django_locqueue.models import State
from django_locqueue.policies.report import Report
from django_locqueue.store.base import StoreBase, repeated
from django_locqueue.store.values import Key

BATCH = 200  # tasks of one statement

_COLUMNS: dict[str, tuple[Callable[[Report], Any], Any]] = {
    "progress": (lambda report: report.fraction, FloatField()),
    "progress_message": (lambda report: report.message, CharField()),
    "metadata": (lambda report: report.metadata, TextField()),  # it is JSON text already
}


class Reporting(StoreBase):
    @repeated
    def save_reports(self, reports: Sequence[tuple[Key, Report]]) -> None:
        """Store the reports of claimed tasks, one statement for many. What is no longer the worker's stays as it is."""
        for start in range(0, len(reports), BATCH):
            self._save(sorted(reports[start : start + BATCH], key=lambda each: each[0]))

    def _save(self, reports: Sequence[tuple[Key, Report]]) -> None:
        changes: dict[str, Any] = {}
        for column, (value_of, field) in _COLUMNS.items():
            said = [(key, value) for key, report in reports if (value := value_of(report)) is not None]
            if said:
                whens = [When(pk=pk, then=Value(value, field)) for (pk, _), value in said]
                changes[column] = Case(*whens, default=F(column), output_field=field)
        if changes:
            claims = Case(*(When(pk=pk, then=Value(claim_no)) for (pk, claim_no), _ in reports))
            self.by_key([pk for (pk, _), _ in reports], State.RUNNING).filter(claim_no=claims).update(**changes)

    @repeated
    def unknown_since(self, task_id: int) -> datetime | None:
        """Return when a worker first met the task without knowing its definition; None: it is the first."""
        return self.tasks.filter(pk=task_id).values_list("unknown_since", flat=True).first()
