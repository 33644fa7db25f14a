"""The page that asks before all tasks that match are changed: how many, which, why, when and how fast."""

from collections import Counter
from datetime import datetime
from typing import Any, NamedTuple

from django.core import signing
from django.urls import reverse
from django.utils.dateparse import parse_datetime
from django.utils.formats import number_format
from django.utils.translation import gettext as _

from django_locqueue.admin import moments
from django_locqueue.admin.selection_words import words_of
from django_locqueue.models import BulkOperation
from django_locqueue.observability.stats import capped_counts, capped_text
from django_locqueue.policies import legible
from django_locqueue.store import get_store
from django_locqueue.store.bulk import MOST
from django_locqueue.store.selection import Selection
from django_locqueue.verbs import VERBS, Verb

SALT = "django_locqueue.bulk"
VALID_SECONDS = 24 * 3600
LOOKED_AT = 10_000  # tasks whose names are counted on the page
EXAMPLES = 5


class Asked(NamedTuple):
    """A change to the tasks that match at a moment. Kept by the page, signed: what is confirmed is what was shown."""

    verb: Verb
    selection: Selection
    asked_at: datetime
    upper_id: int
    matched: int  # at most MOST + 1

    @classmethod
    def of(cls, verb_name: str, query: Any) -> "Asked":
        """Return what the address asks for, counted now. Raises ValueError."""
        verb = VERBS.get(verb_name)
        if verb is None:
            raise ValueError(f"verb must be one of {', '.join(VERBS)}, got {verb_name[:50]!r}.")
        store = get_store()
        asked = cls(verb, Selection.from_query(query), store.now(), store.upper_id(), 0)
        return asked._replace(matched=capped_counts({"found": asked.tasks}, MOST)["found"])

    @property
    def operation(self) -> BulkOperation:
        """The operation that it would be; not stored."""
        return BulkOperation(
            verb=self.verb.name,
            selection=self.selection.as_json(),
            upper_id=self.upper_id,
            created_at=self.asked_at,
        )

    @property
    def tasks(self) -> Any:
        return get_store().bulk_tasks(self.operation)

    @property
    def number(self) -> int:
        """How many are changed at most."""
        return min(self.matched, MOST)

    @property
    def number_text(self) -> str:
        return capped_text(self.matched, MOST)

    def signed(self) -> str:
        stored = [self.verb.name, self.selection.as_json(), self.asked_at.isoformat(), self.upper_id, self.matched]
        return signing.dumps(stored, salt=SALT)

    @classmethod
    def from_signed(cls, text: str) -> "Asked":
        """Raises ``signing.BadSignature``, also if it is too old."""
        name, selection, asked_at, upper_id, matched = signing.loads(text, salt=SALT, max_age=VALID_SECONDS)
        moment = parse_datetime(asked_at)
        if name not in VERBS or moment is None:  # another version of us signed it
            raise signing.BadSignature
        return cls(VERBS[name], Selection.from_json(selection), moment, upper_id, matched)


class Preview(NamedTuple):
    """What the page says of the tasks that are meant."""

    conditions: list[str]
    by_task: list[str]
    is_cut: bool  # only the first LOOKED_AT are counted by task
    examples: list[tuple[str, int]]  # address and number
    only_until: str


def preview(asked: Asked, site_name: str) -> Preview:
    first = list(asked.tasks.values_list("pk", "task_path")[:LOOKED_AT])
    names = Counter(path.rpartition(".")[2] for _pk, path in first)
    shown = [
        _("%(task)s: %(count)s") % {"task": legible.line(name), "count": number_format(count, force_grouping=True)}
        for name, count in names.most_common(10)
    ]
    return Preview(
        words_of(asked.selection),
        [*shown, *(["…"] if len(names) > len(shown) else [])],
        asked.matched > LOOKED_AT,
        [
            (reverse("admin:locqueue_task_change", args=[pk], current_app=site_name), pk)
            for pk, _path in first[:EXAMPLES]
        ],
        moments.whole(asked.asked_at),
    )
