"""Log files into the access log."""

import itertools
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from django.db import OperationalError, transaction

from django_locqueue.accesslog import storage
from django_locqueue.accesslog.analytics.stale import mark_stale
from django_locqueue.accesslog.files import bulk_insert
from django_locqueue.accesslog.files.reader import EXAMPLES, Batch, Reader
from django_locqueue.accesslog.locating import request_locating
from django_locqueue.accesslog.models import AccessLog
from django_locqueue.accesslog.primary import primary
from django_locqueue.accesslog.privacy.visitor_keys import visitor_keys

BATCH = 5_000  # lines in a transaction
SEEN_NETWORKS = 1_000_000
DEADLOCK = 1213  # MySQL's number
QUARTER = 900  # seconds: in every time zone hours begin with one


@dataclass
class Imported:
    """What became of the lines so far."""

    lines: int = 0
    stored: int = 0
    known: int = 0  # stored before
    bad: int = 0
    examples: list[tuple[int, str]] = field(default_factory=list)  # the first bad ones: number of the line, and why
    is_cut: bool = False  # the last line has no end yet, and was left for the next time
    networks: int = 0  # to be located
    oldest: float | None = None  # seconds since 1970

    def add(self, batch: Batch, stored: int, networks: int) -> None:
        self.lines += batch.lines
        self.stored += stored
        self.known += len(batch.rows) - stored
        self.bad += batch.bad
        self.examples = (self.examples + batch.examples)[:EXAMPLES]
        self.is_cut = batch.is_cut
        self.networks += networks
        times = batch.times if self.oldest is None else [self.oldest, *batch.times]
        self.oldest = min(times, default=None)


def import_lines(lines: Iterable[bytes]) -> Iterator[Imported]:
    """Store the requests that the lines tell of; yield what became of them so far, one object, after each batch.

    A batch is a transaction. Whoever is stopped begins anew: what is stored already is left as it is.
    """
    visitor_keys.load()
    using = primary(AccessLog).db
    reader, importer = Reader(using), Importer(using)
    numbered = enumerate(lines, 1)
    # One batch is read while the database stores the one before.
    with ThreadPoolExecutor(1, "locqueue-import") as thread:
        reading = thread.submit(reader.read, itertools.islice(numbered, BATCH))
        while batch := reading.result():
            reading = thread.submit(reader.read, itertools.islice(numbered, BATCH))
            importer.take(batch)
            yield importer.imported


class Importer:
    """Takes the batches of one file."""

    def __init__(self, using: str) -> None:
        self.imported = Imported()
        self._using = using
        self._seen_networks: set[str] = set()

    def take(self, batch: Batch) -> None:
        """Store what is not there yet, have its hours counted, and its networks located."""
        networks = batch.networks - self._seen_networks
        stored, requested = self._store(batch, networks)
        if len(self._seen_networks) > SEEN_NETWORKS:
            self._seen_networks.clear()
        self._seen_networks |= networks
        self.imported.add(batch, stored, requested)

    def _store(self, batch: Batch, networks: set[str], tries: int = 5) -> tuple[int, int]:
        try:
            with transaction.atomic(using=self._using):
                stored = bulk_insert.insert_new(batch.rows, self._using)
                if stored:
                    mark_stale(map(storage.moment, {time // QUARTER * QUARTER for time in batch.times}))
                return stored, request_locating(networks) if networks else 0
        except OperationalError as error:
            # MySQL locks the gaps between keys too: beside another import or a worker no order of rows is safe.
            if tries == 1 or error.args[:1] != (DEADLOCK,):
                raise
        return self._store(batch, networks, tries - 1)
