"""The page that asks before all tasks that match are changed: how many, which, why, when and how fast."""

import uuid
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

from django.core import signing
from django.urls import reverse
from django.utils.dateparse import parse_datetime
from django.utils.formats import number_format
from django.utils.functional import cached_property
from django.utils.translation import gettext as _

from django_locqueue.admin import moments
from django_locqueue.admin.change import Change
from django_locqueue.admin.changes import CHANGES
from django_locqueue.admin.selection_words import words_of
from django_locqueue.models import BulkOperation
from django_locqueue.observability.stats import CAP
from django_locqueue.policies import legible
from django_locqueue.store import get_store
from django_locqueue.store.selection import Selection

SALT = "django_locqueue.bulk"
VALID_SECONDS = 24 * 3600
COUNTED = CAP  # tasks, by their names; beyond it a worker counts
WINDOW = CAP  # of a listing, where not all of it matches
EXAMPLES = 5


@dataclass(frozen=True)
class Asked:
    """A change to the tasks that match at a moment. Kept by the page, signed: what is confirmed is what was shown."""

    change: Change
    selection: Selection
    asked_at: datetime
    upper_id: int
    found: int  # at most COUNTED
    is_cut: bool  # there may be more
    nonce: uuid.UUID = field(default_factory=uuid.uuid4)

    @classmethod
    def of(cls, name: str, query: Any) -> "Asked":
        """Return what the address asks for, counted now. Raises ValueError."""
        change = CHANGES.get(name)
        if change is None:
            raise ValueError(f"verb must be one of {', '.join(CHANGES)}, got {name[:50]!r}.")
        store = get_store()
        asked = cls(change, Selection.from_query(query, now=store.now), store.now(), store.upper_id(), 0, is_cut=False)
        first, is_cut = asked.first
        counted = replace(asked, found=len(first), is_cut=is_cut)
        counted.__dict__["first"] = asked.first  # read already
        return counted

    @property
    def operation(self) -> BulkOperation:
        """The operation that it would be; not stored."""
        return BulkOperation(
            verb=self.change.verb.name,
            selection=self.selection.as_json(),
            upper_id=self.upper_id,
            created_at=self.asked_at,
        )

    @cached_property
    def first(self) -> tuple[list[Any], bool]:
        """Return the ids and paths of those that a page looks at; and whether there are more to look at."""
        rows, is_cut = get_store().first_bulk_tasks(self.operation, WINDOW)
        found = list(rows.values_list("pk", "task_path")[: COUNTED + 1])
        return found[:COUNTED], is_cut or len(found) > COUNTED

    @property
    def matched(self) -> int:
        """How many match; 0: it is for a worker to count them."""
        return 0 if self.is_cut else self.found

    @property
    def number_text(self) -> str:
        return f"{number_format(self.found, force_grouping=True)}{'+' if self.is_cut else ''}"

    def signed(self) -> str:
        bounds = self.asked_at.isoformat(), self.upper_id, self.found, self.is_cut
        return signing.dumps([str(self.nonce), self.change.name, self.selection.as_json(), *bounds], salt=SALT)

    @classmethod
    def from_signed(cls, text: str) -> "Asked":
        """Raises ``signing.BadSignature``, also if it is too old."""
        loaded = signing.loads(text, salt=SALT, max_age=VALID_SECONDS)
        nonce, name, selection, asked_at, upper_id, found, is_cut = loaded
        moment = parse_datetime(asked_at)
        if name not in CHANGES or moment is None:  # another version of us signed it
            raise signing.BadSignature
        return cls(CHANGES[name], Selection.from_json(selection), moment, upper_id, found, is_cut, uuid.UUID(nonce))


class Preview(NamedTuple):
    """What the page says of the tasks that are meant."""

    conditions: list[str]
    by_task: list[str]
    examples: list[tuple[str, int]]  # address and number
    only_until: str


def preview(asked: Asked, site_name: str) -> Preview:
    first = asked.first[0]
    names = Counter(path.rpartition(".")[2] for _pk, path in first)
    shown = [
        _("%(task)s: %(count)s") % {"task": legible.line(name), "count": number_format(count, force_grouping=True)}
        for name, count in names.most_common(10)
    ]
    return Preview(
        words_of(asked.selection),
        [*shown, *(["…"] if len(names) > len(shown) else [])],
        [
            (reverse("admin:locqueue_task_change", args=[pk], current_app=site_name), pk)
            for pk, _path in first[:EXAMPLES]
        ],
        moments.whole(asked.asked_at),
    )
