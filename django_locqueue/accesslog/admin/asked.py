"""What a visitor of the analytics page asked for, read from its address and written into links."""

from dataclasses import dataclass, fields, replace
from typing import Any

from django.http import QueryDict
from django.utils.http import urlencode
from django.utils.translation import gettext_lazy as _

PERIODS = {
    "24h": (24, _("24 hours")),
    "7d": (7 * 24, _("7 days")),
    "30d": (30 * 24, _("30 days")),
    "90d": (90 * 24, _("90 days")),
}
LONGEST = 200


@dataclass(frozen=True)
class Asked:
    """``country``, ``province``: keys of the counts, to look into; empty: the busiest country, and all its cities."""

    period: str = "24h"
    compare: str = "yes"
    bots: str = "no"
    country: str = ""
    province: str = ""

    @classmethod
    def by(cls, query: QueryDict) -> "Asked":
        """Read the address; what it does not say, or says wrongly, is as by default."""
        given = {each.name: str(query[each.name]).replace("\x00", "") for each in fields(cls) if each.name in query}
        return cls(**{name: value[:LONGEST] for name, value in given.items() if value in CHOICES.get(name, (value,))})

    @property
    def hours(self) -> int:
        return PERIODS[self.period][0]

    def link(self, **changes: str) -> str:
        """Return the query string for the same page with something changed; what is as by default is left out."""
        other = replace(self, **changes)
        usual = Asked()
        said: dict[str, Any] = {
            each.name: value
            for each in fields(other)
            if (value := getattr(other, each.name)) != getattr(usual, each.name)
        }
        return f"?{urlencode(said)}"


CHOICES: dict[str, tuple[str, ...]] = {"period": tuple(PERIODS), "compare": ("yes", "no"), "bots": ("yes", "no")}
