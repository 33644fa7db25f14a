"""Builds tiny ip2region files, so that the reader is tested against the format and not against one download."""

import datetime
import ipaddress
import struct
from collections.abc import Iterable
from pathlib import Path

HEADER = 256
VECTOR = 256 * 256 * 8


def build_xdb(
    path: Path,
    version: int,
    ip_version: int,
    regions: Iterable[tuple[str, str, str]],
    *,
    built: datetime.date = datetime.date(2026, 11, 1),
) -> Path:
    """Write ``(first address, last address, region)`` rows, each within one pair of leading bytes; return ``path``."""
    rows = sorted((ipaddress.ip_address(a).packed, ipaddress.ip_address(b).packed, text) for a, b, text in regions)
    texts = bytearray()
    places: dict[str, int] = {}
    for _, _, text in rows:
        if text not in places:
            places[text] = HEADER + VECTOR + len(texts)
            texts += text.encode()
    index = bytearray()
    index_start = HEADER + VECTOR + len(texts)
    vector = bytearray(VECTOR)
    entry_size = 14 if ip_version == 4 else 38
    for number, (first, last, text) in enumerate(rows):
        length = len(text.encode())
        if ip_version == 4:
            index += struct.pack("<4s4sHI", first[::-1], last[::-1], length, places[text])
        else:
            index += struct.pack("<16s16sHI", first, last, length, places[text])
        place, cell = index_start + number * entry_size, (first[0] * 256 + first[1]) * 8
        begin = struct.unpack_from("<I", vector, cell)[0] or place
        struct.pack_into("<II", vector, cell, begin, place)
    last_entry = index_start + (len(rows) - 1) * entry_size
    created = int(datetime.datetime.combine(built, datetime.time(), datetime.UTC).timestamp())
    header = struct.pack("<HHIIIHH", version, 1, created, index_start, last_entry, ip_version, 4)
    if version == 2:
        header = header[:16]  # the fields for IPv6 came with version 3
    path.write_bytes(header.ljust(HEADER, b"\0") + vector + texts + index)
    return path


def built_on(days: int = 0) -> datetime.date:
    """The day on which data were built: so many days after the first."""
    return datetime.date(2026, 1, 1) + datetime.timedelta(days=days)
