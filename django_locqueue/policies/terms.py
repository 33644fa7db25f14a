"""What a worker must know of a task's rare options: a value that travels with the row, so that no code is imported to
judge it."""

import json
from dataclasses import asdict, dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """``limit_key``: the limit under which a task waits that is behind another step of its workflow for now.

    ``concurrency``: how many of its limit may run at once. ``rate_key``, ``rate_limit``, ``rate_seconds``: at most
    so many starts in so many seconds over all tasks of that key. ``chunk``, ``chunk_wait``: it runs together with up to
    so many others, for which it waits so many seconds. ``expires``: seconds within which it must start.
    ``unique_items``: it holds items that are free when it starts. ``forget``: its row is not to be kept
    when its workflow has succeeded.
    """

    limit_key: str | None = None
    concurrency: int | None = None
    rate_key: str | None = None
    rate_limit: int | None = None
    rate_seconds: float | None = None
    chunk: int | None = None
    chunk_wait: float = 0.0
    expires: float | None = None
    unique_items: bool = False
    forget: bool = False

    def dump(self) -> str | None:
        """Return JSON of what is not as usual; None if nothing is."""
        given = {name: value for name, value in asdict(self).items() if value}
        return json.dumps(given, separators=(",", ":")) if given else None


USUAL = Terms()

# As they stand in the text, for statements over many rows, and where a row may be damaged.
WITH_CONCURRENCY = '"concurrency":'
LIMITED = '"limit_key":'
UNIQUE_ITEMS = '"unique_items":true'
FORGET = '"forget":true'


@lru_cache(maxsize=1024)
def load_terms(text: str | None) -> Terms:
    """Return the terms in a row. Raises ValueError or TypeError for what :meth:`Terms.dump` never writes.

    Names that this version does not know are left out: a newer one wrote them.
    """
    if text is None:
        return USUAL
    given = json.loads(text)
    if not isinstance(given, dict):
        raise ValueError(f"the terms of a task must be a JSON object, got {text[:80]}")
    known = {name: value for name, value in given.items() if name in _TYPES}
    for name, value in known.items():
        if not isinstance(value, _TYPES[name]) or not value or (isinstance(value, int | float) and value <= 0):
            raise ValueError(f"the terms of a task have {name}: {value!r:.80}, which nothing here has written")
    return Terms(**known)


# JSON has one kind of number.
_TYPES = {name: int | float if kind in (float, float | None) else kind for name, kind in Terms.__annotations__.items()}
