"""What ``queue_doctor`` looks at, and what one look has found."""

from typing import NamedTuple, Self

TRANSACTION_SECONDS = 300  # that one may be open
DEAD_SHARE = 0.2  # of a table that may wait to be cleaned up
DEAD_ROWS = 10_000  # of a small one


class Finding(NamedTuple):
    """``name``: what was looked at; ``facts``: how it is, in half a line; ``problem``: empty if it is well."""

    name: str
    facts: str = ""
    problem: str = ""
    cure: str = ""

    @classmethod
    def of(cls, name: str, facts: str, is_ill: object, problem: str, cure: str) -> Self:
        """Return one that has its problem and cure if it is ill."""
        return cls(name, facts, problem, cure) if is_ill else cls(name, facts)

    @property
    def is_well(self) -> bool:
        return not self.problem


def share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "0 %"


def megabytes(size: float) -> str:
    return f"{size / 2**20:,.0f} MB" if size >= 2**20 else f"{size / 2**10:,.0f} KB"
