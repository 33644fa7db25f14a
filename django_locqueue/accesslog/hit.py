"""One recorded request, as a plain value that travels as a task's argument."""

import os
import re
from typing import Any, NamedTuple, TypeVar

# Lengths of the columns, in characters. MySQL indexes at most 191 of utf8mb4; none of these is indexed.
METHOD_LENGTH = 16
HOST_LENGTH = 255
PATH_LENGTH = 512
ACTION_LENGTH = 200
ROUTE_LENGTH = 200
USER_AGENT_LENGTH = 255
REFERER_LENGTH = 512
QUERY_LENGTH = 255
VISITOR_LENGTH = 16
MAX_TASKS = 20
TASK_IDS_LENGTH = MAX_TASKS * 20  # of 19 digits at most, and a comma
USER_ID_LENGTH = 64

CUT = "…"
MAX_STATUS = 32_767  # the smallest column type that Django offers
MAX_DURATION_MS = 1e9  # eleven days
MAX_BIGINT = 2**63 - 1

Number = TypeVar("Number", int, float)

# PostgreSQL refuses U+0000 in text, and no encoder takes half a surrogate pair; both come from scanners' URLs.
_unstorable = re.compile("[\x00\ud800-\udfff]")


class Hit(NamedTuple):
    """A request that was answered; every field fits its column, and is of exactly the type that is written here.

    The queue refuses subclasses, since JSON would lose them: an ``HTTPStatus`` is no ``int``, a ``SafeString`` no
    ``str``.

    A named tuple, since building one takes a third of a frozen dataclass's time. The fields' order is the stored
    form: add at the end, with a default, so that hits which wait in the queue during a deploy stay readable.
    """

    id: str  # made before the first try to enqueue the hit, so that storing it twice is noticed
    time: float  # seconds since 1970, when the request came
    ip: str | None
    user_id: int | str | None
    method: str
    host: str
    path: str  # without the query string, which is full of secrets
    action: str  # the URL's name, or what LOCQUEUE["ACCESS_LOG"]["ACTION"] says
    route: str  # the URL pattern
    status: int
    duration_ms: float
    bytes: int | None  # from Content-Length; bodies are never read
    user_agent: str
    referer: str
    streaming: bool  # the duration ends before the body does
    weight: float = 1.0  # how many requests it stands for: 1 / SAMPLE_RATE
    query: str = ""  # what QUERY_PARAMS lets through
    visitor: str = ""  # of the same address and agent on the same day; 16 hex digits
    task_ids: str = ""  # of the first tasks that the request enqueued, with commas
    is_bot: bool | None = None  # None: by the user agent

    def to_json(self) -> list[Any]:
        """Return the fields, with the numbers rounded to what anybody can use: to the microsecond."""
        rounded = self._replace(time=round(self.time, 6), duration_ms=round(self.duration_ms, 3))
        return list(rounded)

    @classmethod
    def from_json(cls, fields: Any) -> "Hit":
        """Read ``to_json``'s list, ignoring fields of a newer version. Raises ValueError for anything else."""
        if not isinstance(fields, list) or len(fields) < len(cls._fields) - len(cls._field_defaults):
            raise ValueError(f"a hit is a list of {len(cls._fields)} fields, got {str(fields)[:80]!r}")
        return cls._make(fields[: len(cls._fields)])


def new_id() -> str:
    """Return 32 random hex digits: what ``uuid4().hex`` gives, in half its time."""
    return os.urandom(16).hex()


def exact_text(value: Any) -> str:
    """Return ``value`` as a ``str`` and no subclass of it; nothing for None. Raises what its ``__str__`` raises."""
    if value is None:
        return ""
    # str() alone returns what __str__ does, which for a SafeString, a lazy one too, is itself.
    return str.__str__(value if isinstance(value, str) else str(value))


def text(value: Any, length: int) -> str:
    """Return ``value`` as text that any database takes, cut to ``length`` characters with a mark."""
    kept = value if type(value) is str else exact_text(value)
    if len(kept) > length:
        kept = kept[: length - 1] + CUT
    if kept.isascii() and "\x00" not in kept:  # nearly all, at a tenth of the price
        return kept
    return _unstorable.sub("\ufffd", kept)


def number(value: Any, most: Number) -> Number:
    """Return ``value`` between 0 and ``most``, and of the type of ``most``; 0 for what is no number."""
    kind = type(most)
    try:
        exact = kind(value)
    except OverflowError:  # infinity
        return most
    except Exception:  # an object's own __int__ may raise anything
        return kind(0)
    if 0 <= exact <= most:
        return exact
    return most if exact > most else kind(0)


def content_length(value: str | None) -> int | None:
    """Return the header's number of bytes, or None if it is missing or no number."""
    if not value or len(value) > 19 or not (value.isascii() and value.isdigit()):
        return None
    return min(int(value), MAX_BIGINT)


def referer(value: Any) -> str:
    """Return the referring page without what may be secret: query, fragment, user name and password."""
    page = exact_text(value).partition("?")[0].partition("#")[0]
    scheme, separator, rest = page.partition("://")
    if separator:
        host, slash, path = rest.partition("/")
        host = host.rpartition("@")[2]
        # No host is that long: it is a password that was cut before its "@".
        page = f"{scheme}://{host if len(host) <= HOST_LENGTH else CUT}{slash}{path}"
    return text(page, REFERER_LENGTH)


def user_id(value: Any) -> int | str | None:
    """Return a user's primary key as JSON holds it; None for one that no column would hold."""
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        key = int(value)
        return key if abs(key) <= MAX_BIGINT else None
    name = exact_text(value)
    # A cut key would be another user's.
    return name if 0 < len(name) <= USER_ID_LENGTH and not _unstorable.search(name) else None
