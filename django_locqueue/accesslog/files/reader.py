"""Makes rows of a log file's lines, as the settings of privacy have them."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from django.conf import settings
from django.db import connections

from django_locqueue.accesslog import storage
from django_locqueue.accesslog.bots import is_bot
from django_locqueue.accesslog.conf import access_log
from django_locqueue.accesslog.files import combined
from django_locqueue.accesslog.files.bulk_insert import Row
from django_locqueue.accesslog.files.combined import BadLine
from django_locqueue.accesslog.files.log_file import MAX_LINE
from django_locqueue.accesslog.prefix import network_prefix
from django_locqueue.accesslog.privacy.paths import own_path
from django_locqueue.accesslog.privacy.policy import current_policy
from django_locqueue.accesslog.privacy.protection import protect

EXAMPLES = 5
WINDOW = 100_000  # lines


class LineIds:
    """Gives each line of a file an id that the same line gets again.

    Two requests may leave equal lines; then they were logged within a second or so, and are told apart by counting.
    Equal lines that are further apart than ``WINDOW`` different ones are one that was copied.
    """

    def __init__(self) -> None:
        # Keyed: else whoever sees an id and a shortened address could try which address gives that id.
        self._key = hashlib.sha256(f"django_locqueue.accesslog.files{settings.SECRET_KEY}".encode()).digest()
        # Two halves of a window: the older is forgotten when the younger is full.
        self._young: dict[bytes, int] = {}
        self._old: dict[bytes, int] = {}

    def id_of(self, line: bytes, time: float) -> str:
        """Return 32 hex digits. They begin with the second, so that the index of ids grows at one place."""
        digest = hashlib.blake2b(line, digest_size=12, key=self._key).digest()
        count = self._young.get(digest) or self._old.get(digest, 0)
        if len(self._young) >= WINDOW:
            self._old, self._young = self._young, {}
        self._young[digest] = count + 1
        if count:
            digest = hashlib.blake2b(b"%d %s" % (count, digest), digest_size=12, key=self._key).digest()
        return f"{int(time) % 2**32:08x}{digest.hex()}"


@dataclass
class Batch:
    """What some lines told."""

    rows: list[Row] = field(default_factory=list)
    times: list[float] = field(default_factory=list)  # of the rows, in seconds since 1970
    networks: set[str] = field(default_factory=set)
    lines: int = 0
    bad: int = 0
    examples: list[tuple[int, str]] = field(default_factory=list)  # the first bad ones: number of the line, and why
    is_cut: bool = False  # the last line has no end yet, and is left for the next time

    def __bool__(self) -> bool:
        return self.lines > 0 or self.is_cut


class Reader:
    """Reads the lines of one file. Asks no database; ``using`` is that for which the rows are."""

    def __init__(self, using: str) -> None:
        self._ids = LineIds()
        self._policy = current_policy()
        self._keeps_query = bool(self._policy.parameters)
        self._tells_bots = access_log.BOTS != "same"
        self._operations = connections[using].ops
        # The middleware knows what of a path is secret; here the path is resolved for it.
        self._path = lru_cache(maxsize=65_536)(own_path())
        # Lines of a second stand together, and visitors come back.
        self._time = lru_cache(maxsize=16_384)(self._stored_time)
        self._network = lru_cache(maxsize=65_536)(self._network_of)

    def read(self, numbered: Iterable[tuple[int, bytes]]) -> Batch:
        """Return what the lines tell."""
        batch = Batch()
        for number, line in numbered:
            is_whole = line.endswith(b"\n")
            if not is_whole and len(line) < MAX_LINE:
                # Perhaps the server is writing it: what it will be is another line, with another id.
                batch.is_cut = True
                break
            batch.lines += 1
            line = line.rstrip(b"\r\n")
            if not line:
                continue
            try:
                if not is_whole:
                    raise BadLine(f"expected a line of less than {MAX_LINE:,} bytes")
                self._add_row(batch, line)
            except BadLine as error:
                batch.bad += 1
                if len(batch.examples) < EXAMPLES:
                    batch.examples.append((number, str(error)))
        return batch

    def _add_row(self, batch: Batch, line: bytes) -> None:
        logged = combined.read(line.decode(errors="replace"))
        # Of a query that no setting wants nothing is looked at.
        hit = protect(logged, self._policy, query=logged.query if self._keeps_query else "")
        network = hit.ip and self._network(hit.ip)
        row = (  # in the order of bulk_insert.GIVEN
            self._ids.id_of(line, hit.time),
            self._time(hit.time),
            hit.ip,
            network,
            hit.method,
            hit.host,
            self._path(hit.path),
            hit.status,
            hit.duration_ms,
            hit.bytes,
            self._tells_bots and is_bot(hit.user_agent),
            hit.user_agent,
            hit.referer,
            hit.query if self._keeps_query else "",
            hit.visitor,
        )
        batch.rows.append(row)
        batch.times.append(hit.time)
        if network:
            batch.networks.add(network)

    def _stored_time(self, seconds: float) -> str:
        """Return a time as the database reads it in a text."""
        return str(self._operations.adapt_datetimefield_value(storage.moment(seconds)))

    def _network_of(self, ip: str) -> str:
        return network_prefix(ip, access_log.PREFIX_V4, access_log.PREFIX_V6)
