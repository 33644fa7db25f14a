"""What running tasks say of themselves, stored while they run."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db.models import Case, CharField, F, FloatField, TextField, Value, When

from django_locqueue import conf
from django_locqueue.models import State
from django_locqueue.policies import task_log
from django_locqueue.policies.report import Report
from django_locqueue.store.base import StoreBase, repeated
from django_locqueue.store.values import Key

BATCH = 200  # tasks of one statement

_COLUMNS: dict[str, Any] = {
    "progress": FloatField(),
    "progress_message": CharField(),
    "metadata": TextField(),  # it is JSON text already, as is the log
    "log": TextField(),
}


class Reporting(StoreBase):
    @repeated
    def save_reports(self, reports: Sequence[tuple[Key, Report]]) -> None:
        """Store the reports of claimed tasks, one statement for many. What is no longer the worker's stays as it is."""
        for start in range(0, len(reports), BATCH):
            self._save(sorted(reports[start : start + BATCH], key=lambda each: each[0]))

    def _save(self, reports: Sequence[tuple[Key, Report]]) -> None:
        logs = self._logs(reports)
        # In the order of the columns.
        values = [(pk, (said.fraction, said.message, said.metadata, logs.get(pk))) for (pk, _), said in reports]
        changes: dict[str, Any] = {}
        for place, (column, field) in enumerate(_COLUMNS.items()):
            whens = [When(pk=pk, then=Value(row[place], field)) for pk, row in values if row[place] is not None]
            if whens:
                changes[column] = Case(*whens, default=F(column), output_field=field)
        if changes:
            claims = Case(*(When(pk=pk, then=Value(claim_no)) for (pk, claim_no), _ in reports))
            self.by_key([pk for (pk, _), _ in reports], State.RUNNING).filter(claim_no=claims).update(**changes)

    def _logs(self, reports: Sequence[tuple[Key, Report]]) -> dict[int, str]:
        """Return what is to be stored of those that have logged: earlier claims' lines are read, and stay before it."""
        logged = [(key, report.log) for key, report in reports if report.log]
        again = [pk for (pk, claim_no), _ in logged if claim_no > 1]
        # Without a lock: a log is written by who has the claim, and what is read by another is not stored.
        earlier = dict(self.tasks.filter(pk__in=again).values_list("pk", "log")) if again else {}
        most = conf.worker.LOG_LINES
        return {pk: task_log.joined(earlier.get(pk), claim_no, lines, most) for (pk, claim_no), lines in logged}

    @repeated
    def unknown_since(self, task_id: int) -> datetime | None:
        """Return when a worker first met the task without knowing its definition; None: it is the first."""
        return self.tasks.filter(pk=task_id).values_list("unknown_since", flat=True).first()
