"""A log file as lines: plain or gzip, on disk or from standard input."""

import gzip
import io
import os
import stat
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

STDIN = "-"
GZIP = b"\x1f\x8b"
MAX_LINE = 65_536  # bytes; no server takes a request that long


class LogFile:
    """Opened by ``with``; iterating gives lines as bytes, the last of which may lack its end.

    Of a line that is longer than ``MAX_LINE`` only so much is given, without a line break. ``size``: in bytes, None if
    it is not known. Raises OSError, for a gzip file that was cut or damaged too.
    """

    def __init__(self, name: str) -> None:
        self.name = "standard input" if name == STDIN else name
        self._path = None if name == STDIN else Path(name)

    def __enter__(self) -> Self:
        self._raw: io.BufferedReader = sys.stdin.buffer if self._path is None else self._path.open("rb")  # type: ignore[assignment]
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._path is not None:
            self._raw.close()

    @property
    def size(self) -> int | None:
        status = os.fstat(self._raw.fileno())
        return status.st_size if stat.S_ISREG(status.st_mode) else None

    @property
    def position(self) -> int | None:
        """How many bytes of ``size`` have been read; None if it is not known."""
        return None if self.size is None else self._raw.tell()

    def __iter__(self) -> Iterator[bytes]:
        # By content: rotated logs are called access.log.2.gz and access.log-20260101 alike.
        is_gzip = self._raw.peek(len(GZIP)).startswith(GZIP)
        stream: gzip.GzipFile | io.BufferedReader = gzip.GzipFile(fileobj=self._raw) if is_gzip else self._raw
        try:
            while line := stream.readline(MAX_LINE):
                yield line
                rest = line
                while len(rest) == MAX_LINE and not rest.endswith(b"\n"):
                    rest = stream.readline(MAX_LINE)
        except (EOFError, zlib.error) as error:
            raise OSError(f"its gzip data are cut or damaged ({error})") from error
