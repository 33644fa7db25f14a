"""Log files into the access log."""

import itertools
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache

from django.db import connections, router, transaction

from django_locqueue.accesslog import storage
from django_locqueue.accesslog.analytics.stale import mark_stale
from django_locqueue.accesslog.bots import is_bot
from django_locqueue.accesslog.conf import access_log
from django_locqueue.accesslog.files import bulk_insert, combined
from django_locqueue.accesslog.files.combined import BadLine
from django_locqueue.accesslog.files.line_ids import LineIds
from django_locqueue.accesslog.files.log_file import MAX_LINE
from django_locqueue.accesslog.hit import Hit
from django_locqueue.accesslog.locating import request_locating
from django_locqueue.accesslog.models import AccessLog
from django_locqueue.accesslog.prefix import network_prefix
from django_locqueue.accesslog.privacy.paths import own_path
from django_locqueue.accesslog.privacy.policy import current_policy
from django_locqueue.accesslog.privacy.protection import protect
from django_locqueue.accesslog.privacy.visitor_keys import visitor_keys

BATCH = 5_000  # lines in a transaction
EXAMPLES = 5
SEEN_NETWORKS = 1_000_000
QUARTER = 900  # seconds: in every time zone hours begin with one


@dataclass
class Read:
    """What some lines told."""

    hits: list[Hit] = field(default_factory=list)
    lines: int = 0
    bad: int = 0
    examples: list[tuple[int, str]] = field(default_factory=list)  # the first bad ones: number of the line, and why
    is_cut: bool = False  # the last line has no end yet, and is left for the next time


@dataclass
class Imported:
    """What became of the lines so far."""

    lines: int = 0
    stored: int = 0
    known: int = 0  # stored before
    bad: int = 0
    examples: list[tuple[int, str]] = field(default_factory=list)
    is_cut: bool = False
    networks: int = 0  # to be located
    oldest: float | None = None  # seconds since 1970

    def add(self, read: Read, stored: int, networks: int) -> None:
        self.lines += read.lines
        self.stored += stored
        self.known += len(read.hits) - stored
        self.bad += read.bad
        self.examples = (self.examples + read.examples)[:EXAMPLES]
        self.is_cut = read.is_cut
        self.networks += networks
        times = [hit.time for hit in read.hits]
        self.oldest = min([*times, self.oldest] if self.oldest is not None else times, default=None)


def import_lines(lines: Iterable[bytes]) -> Iterator[Imported]:
    """Store the requests that the lines tell of; yield what became of them so far, one object, after each batch.

    A batch is a transaction. Whoever is stopped begins anew: what is stored already is left as it is.
    """
    importer = Importer()
    numbered = enumerate(lines, 1)
    # One batch is read while the database stores the one before.
    with ThreadPoolExecutor(1, "locqueue-import") as thread:
        reading = thread.submit(importer.read, itertools.islice(numbered, BATCH))
        while (read := reading.result()).lines or read.is_cut:
            reading = thread.submit(importer.read, itertools.islice(numbered, BATCH))
            importer.store(read)
            yield importer.imported


class Importer:
    """Takes the numbered lines of one file, batch by batch."""

    def __init__(self) -> None:
        self.imported = Imported()
        self._ids = LineIds()
        self._using = router.db_for_write(AccessLog)
        self._policy = current_policy()
        self._tells_bots = access_log.BOTS != "same"
        # The middleware knows what of a path is secret; here the path is resolved for it.
        self._path = lru_cache(maxsize=65_536)(own_path())
        visitor_keys.load()
        self._seen_networks: set[str] = set()
        # Lines of a second stand together, and visitors come back.
        self._time = lru_cache(maxsize=16_384)(self._stored_time)
        self._network = lru_cache(maxsize=65_536)(self._network_of)

    def read(self, numbered: Iterable[tuple[int, bytes]]) -> Read:
        """Return what the lines tell. Asks no database."""
        read = Read()
        for number, line in numbered:
            is_whole = line.endswith(b"\n")
            if not is_whole and len(line) < MAX_LINE:
                # Perhaps the server is writing it: what it will be is another line, with another id.
                read.is_cut = True
                break
            read.lines += 1
            line = line.rstrip(b"\r\n")
            if not line:
                continue
            try:
                if not is_whole:
                    raise BadLine(f"expected a line of less than {MAX_LINE:,} bytes")
                read.hits.append(self._hit(line))
            except BadLine as error:
                read.bad += 1
                if len(read.examples) < EXAMPLES:
                    read.examples.append((number, str(error)))
        return read

    def store(self, read: Read) -> None:
        """Store what is not there yet, have its hours counted, and its networks located."""
        rows = [self._row(hit) for hit in read.hits]
        networks = {row[3] for row in rows if row[3] is not None} - self._seen_networks
        with transaction.atomic(using=self._using):
            stored = bulk_insert.insert_new(rows, self._using)
            if stored:
                mark_stale(map(storage.moment, {hit.time // QUARTER * QUARTER for hit in read.hits}))
            requested = request_locating(networks) if networks else 0
        if len(self._seen_networks) > SEEN_NETWORKS:
            self._seen_networks.clear()
        self._seen_networks |= networks
        self.imported.add(read, stored, requested)

    def _hit(self, line: bytes) -> Hit:
        hit = combined.read(line.decode(errors="replace"))
        whole = hit._replace(id=self._ids.id_of(line, hit.time), path=self._path(hit.path), query="")
        return protect(whole, self._policy, query=hit.query if self._policy.parameters else "")

    def _row(self, hit: Hit) -> bulk_insert.Row:
        return (  # in the order of bulk_insert.GIVEN
            hit.id,
            self._time(hit.time),
            hit.ip,
            hit.ip and self._network(hit.ip),
            hit.method,
            hit.host,
            hit.path,
            hit.status,
            hit.duration_ms,
            hit.bytes,
            self._tells_bots and is_bot(hit.user_agent),
            hit.user_agent,
            hit.referer,
            hit.query,
            hit.visitor,
        )

    def _stored_time(self, seconds: float) -> str:
        """Return a time as the database reads it in a text."""
        return str(connections[self._using].ops.adapt_datetimefield_value(storage.moment(seconds)))

    def _network_of(self, ip: str) -> str:
        return network_prefix(ip, access_log.PREFIX_V4, access_log.PREFIX_V6)
