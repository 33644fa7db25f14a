"""Log files into the access log."""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

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

BATCH = 5_000  # lines in a transaction
EXAMPLES = 5
SEEN_NETWORKS = 1_000_000
QUARTER = 900  # seconds: in every time zone hours begin with one


@dataclass
class Imported:
    """What became of the lines so far."""

    lines: int = 0
    stored: int = 0
    known: int = 0  # stored before
    bad: int = 0
    examples: list[tuple[int, str]] = field(default_factory=list)  # the first bad ones: number of the line, and why
    networks: int = 0  # to be located
    oldest: float | None = None  # seconds since 1970
    is_cut: bool = False  # the last line has no end yet, and was left for the next time


def import_lines(lines: Iterable[bytes]) -> Iterator[Imported]:
    """Store the requests that the lines tell of; yield what became of them so far, one object, after each batch.

    A batch is a transaction. Whoever is stopped begins anew: what is stored already is left as it is.
    """
    importer = Importer()
    numbered = enumerate(lines, 1)
    while batch := list(itertools.islice(numbered, BATCH)):
        importer.take(batch)
        yield importer.imported


class Importer:
    """Takes the numbered lines of one file, batch by batch."""

    def __init__(self) -> None:
        self.imported = Imported()
        self._ids = LineIds()
        self._using = router.db_for_write(AccessLog)
        self._seen_networks: set[str] = set()
        # Lines of a second stand together, and visitors come back.
        self._time = lru_cache(maxsize=4096)(self._stored_time)
        self._network = lru_cache(maxsize=65_536)(self._network_of)

    def take(self, batch: Iterable[tuple[int, bytes]]) -> None:
        """Store what is not there yet, and have its networks located."""
        imported = self.imported
        hits = [hit for number, line in batch if (hit := self._read(number, line)) is not None]
        if not hits:
            return
        rows = [self._row(hit) for hit in hits]
        networks = {row[3] for row in rows if row[3] is not None} - self._seen_networks
        with transaction.atomic(using=self._using):
            stored = bulk_insert.insert_new(rows, self._using)
            if stored:
                mark_stale(map(storage.moment, {hit.time // QUARTER * QUARTER for hit in hits}))
            requested = request_locating(networks)
        if len(self._seen_networks) > SEEN_NETWORKS:
            self._seen_networks.clear()
        self._seen_networks |= networks
        imported.stored += stored
        imported.known += len(rows) - stored
        imported.networks += requested
        oldest = min(hit.time for hit in hits)
        imported.oldest = oldest if imported.oldest is None else min(imported.oldest, oldest)

    def _read(self, number: int, line: bytes) -> Hit | None:
        """Return the line's request; None if there is none."""
        if not line.endswith(b"\n"):
            if len(line) >= MAX_LINE:
                return self._refuse(number, f"it is longer than {MAX_LINE:,} bytes")
            # Perhaps the server is writing it: what it will be is another line, with another id.
            self.imported.is_cut = True
            return None
        self.imported.lines = number
        line = line.rstrip(b"\r\n")
        if not line:
            return None
        try:
            hit = combined.read(line.decode(errors="replace"))
        except BadLine as error:
            return self._refuse(number, str(error))
        return hit._replace(id=self._ids.id_of(line, hit.time), query="")

    def _refuse(self, number: int, reason: str) -> None:
        self.imported.lines = number
        self.imported.bad += 1
        if len(self.imported.examples) < EXAMPLES:
            self.imported.examples.append((number, reason))

    def _row(self, hit: Hit) -> bulk_insert.Row:
        return (  # in the order of bulk_insert.GIVEN
            hit.id,
            self._time(hit.time),
            hit.ip,
            None if hit.ip is None else self._network(hit.ip),
            hit.method,
            hit.host,
            hit.path,
            hit.status,
            hit.duration_ms,
            hit.bytes,
            is_bot(hit.user_agent),
            hit.user_agent,
            hit.referer,
            hit.query,
            hit.visitor,
        )

    def _stored_time(self, seconds: float) -> str:
        """Return a time as the database reads it in a text."""
        field = AccessLog._meta.get_field("time")
        return str(field.get_db_prep_value(storage.moment(seconds), connections[self._using]))

    def _network_of(self, ip: str) -> str:
        return network_prefix(ip, access_log.PREFIX_V4, access_log.PREFIX_V6)
