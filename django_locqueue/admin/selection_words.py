"""Which tasks are meant, in words."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from django_locqueue.admin import moments
from django_locqueue.models import ErrorGroup, Limit, State
from django_locqueue.policies import legible, masking
from django_locqueue.store.selection import Selection

LISTING_WORDS = {
    "ready": gettext_lazy("Ready"),
    "overdue": gettext_lazy("Overdue"),
    "scheduled": gettext_lazy("Scheduled"),
    "blocked": gettext_lazy("Blocked"),
    "running": gettext_lazy("Running"),
    "succeeded": gettext_lazy("Succeeded"),
    "cancelled": gettext_lazy("Cancelled"),
    "failed": gettext_lazy("Failed tasks"),
    "dismissed": gettext_lazy("Dismissed"),
    "retried": gettext_lazy("Retried tasks"),
    "retrying": gettext_lazy("Waiting to retry"),
    "succeeded_after_retry": gettext_lazy("Succeeded after a retry"),
    "failed_after_retries": gettext_lazy("Failed after all retries"),
    "retried_by_hand": gettext_lazy("Retried by hand"),
    "all": gettext_lazy("All tasks"),
}
PRIORITY_WORDS = {
    "high": pgettext_lazy("priority", "high"),
    "normal": pgettext_lazy("priority", "normal"),
    "low": pgettext_lazy("priority", "low"),
}


def words_of(selection: Selection, groups: Mapping[str, ErrorGroup] | None = None) -> list[str]:
    """Return the listing and each condition, fit for a page.

    ``groups``: kinds of errors by fingerprint, where they were read for many selections; else this asks for one.
    """
    said = [str(LISTING_WORDS.get(selection.listing, selection.listing))]
    for sentence, value in (
        (_("queue is %(value)s"), selection.queue),
        (_("task is %(value)s"), selection.task),
        (_("worker is %(value)s"), selection.worker),
        (_("error is %(value)s"), selection.error.rpartition(".")[2]),
        (_("error is %(value)s"), _group(selection.group, groups)),
        (_("limit is %(value)s"), Limit.name_of(selection.limit)),
        (_("state is %(value)s"), State(selection.state).label if selection.state else ""),
        (_("priority is %(value)s"), PRIORITY_WORDS.get(selection.priority, "")),
        (_("found by %(value)s"), selection.search),
        (_("since %(value)s"), moments.whole(selection.since) if selection.since else ""),
        (_("before %(value)s"), moments.whole(selection.until) if selection.until else ""),
        (_("workflow is %(value)s"), f"#{selection.workflow}" if selection.workflow is not None else ""),
        (_("number is at most %(value)s"), "" if selection.upper_id is None else f"#{selection.upper_id}"),
    ):
        if value:
            said.append(sentence % {"value": legible.line(str(value))})
    if selection.retried_by_hand is not None:
        said.append(_("retried by hand") if selection.retried_by_hand else _("not retried by hand"))
    return said


def stored_words(stored: Any, groups: Mapping[str, ErrorGroup] | None = None) -> str:
    """Return the words for a selection as a row holds it; of one that cannot be read, what it holds."""
    try:
        if not isinstance(stored, Mapping):
            raise TypeError
        return " · ".join(words_of(Selection.from_json(stored), groups))
    except (ValueError, TypeError):
        return legible.line(masking.mask_text(str(stored))[:200])


def groups_of(selections: Iterable[Any]) -> dict[str, ErrorGroup]:
    """Return the kinds of errors that stored selections name, by fingerprint, read for all of them at once."""
    wanted = {str(each["group"]) for each in selections if isinstance(each, Mapping) and each.get("group")}
    return ErrorGroup.objects.in_bulk(list(wanted)) if wanted else {}


def _group(fingerprint: str, groups: Mapping[str, ErrorGroup] | None) -> str:
    if not fingerprint:
        return ""
    group = ErrorGroup.objects.filter(pk=fingerprint).first() if groups is None else groups.get(fingerprint)
    if group is None:
        return fingerprint[:8]
    return f"{group.error_class.rpartition('.')[2]}: {masking.mask_text(group.message)}"
