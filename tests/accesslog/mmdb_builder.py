"""Builds small MaxMind DB files."""

import datetime
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest import mock

from mmdb_writer import MMDBWriter
from netaddr import IPSet


def build_mmdb(
    path: Path,
    records: Mapping[str, Mapping[str, Any]],
    kind: str = "Test-City",
    *,
    ip_version: int = 6,
    built: datetime.date = datetime.date(2026, 11, 1),
) -> Path:
    """Write a record for each network; return ``path``."""
    writer = MMDBWriter(ip_version, kind, ["en"], "for tests", ipv4_compatible=ip_version == 6)
    for network, record in records.items():
        writer.insert_network(IPSet([network]), dict(record))
    midnight = datetime.datetime.combine(built, datetime.time(), datetime.UTC).timestamp()
    with mock.patch.object(time, "time", return_value=midnight):
        writer.to_db_file(str(path))
    return path
