"""How many different addresses there were, of hours that can be united: k minimum values.

Each address is hashed to 64 bits, evenly; a sketch holds the ``K`` smallest of the hashes. Below ``K`` it holds all,
and the count is exact. Above, the greatest that it holds says how thickly the hashes lie: the count is right to 3 % in
two cases of three, to 9 % in practically all (the standard error is 1 / sqrt(K - 2)).

Bar-Yossef, Jayram, Kumar, Sivakumar, Trevisan: Counting Distinct Elements in a Data Stream (2002).
"""

import hashlib
import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from heapq import nsmallest

from django.conf import settings

K = 1024
_HASHES = 1 << 64


@dataclass(frozen=True, slots=True)
class Distinct:
    """A number of different things. ``is_exact``: counted; else estimated."""

    number: int
    is_exact: bool


NONE = Distinct(0, is_exact=True)


def sketch_of(things: Iterable[str]) -> bytes:
    """Return the sketch: at most 8 KB. Things that occur twice count once."""
    key = _key()
    digest = hashlib.blake2b
    hashes = {int.from_bytes(digest(thing.encode(), digest_size=8, key=key).digest(), "little") for thing in things}
    return _packed(hashes)


def united(sketches: Iterable[bytes | memoryview]) -> bytes:
    """Return the sketch of all that is in any of them."""
    smallest: set[int] = set()
    limit = _HASHES
    for sketch in sketches:
        hashes = _unpacked(sketch)
        smallest.update(hashes[: bisect_left(hashes, limit)])
        if len(smallest) >= 2 * K:
            smallest = set(nsmallest(K, smallest))
            limit = max(smallest)
    return _packed(smallest)


def distinct(sketch: bytes) -> Distinct:
    """Return how many different things the sketch has seen."""
    hashes = _unpacked(sketch)
    if len(hashes) < K:
        return Distinct(len(hashes), is_exact=True)
    return Distinct(round((K - 1) * _HASHES / hashes[-1]), is_exact=False)


def _key() -> bytes:
    # There are few enough addresses to hash them all. With a key that is not in the database, whoever has a copy of
    # that cannot read from a sketch, which is kept longer than the log, who was there.
    return hashlib.sha256(b"django_locqueue.accesslog.sketch" + str(settings.SECRET_KEY).encode()).digest()


def _packed(hashes: Iterable[int]) -> bytes:
    numbers = array("Q", nsmallest(K, hashes))
    return _little_endian(numbers).tobytes()


def _unpacked(sketch: bytes | memoryview) -> "array[int]":
    numbers = array("Q")
    numbers.frombytes(bytes(sketch))  # some drivers give a memoryview
    return _little_endian(numbers)


def _little_endian(numbers: "array[int]") -> "array[int]":
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
