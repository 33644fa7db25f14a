"""A data file that is opened when first needed, and again when another has taken its place."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from django_locqueue.accesslog.geo.errors import GeoError

Opened = TypeVar("Opened")


class KeptFile(Generic[Opened]):
    """What ``open_file`` made of the file at ``path``, as long as it is the same file.

    Replace a file by renaming a new one over it. One that is written over in place is damaged until it is complete, and
    cutting off what a process has mapped ends that process.

    Threads share it without a lock: two may open a new file both, to the same end, and who still reads the old one
    keeps it. Files are mapped (see ``XdbFile``), so processes that are forked later share it too.
    """

    def __init__(self, path: str | os.PathLike[str], open_file: Callable[[Path], Opened]) -> None:
        self.path = Path(path)
        self._open_file = open_file
        self._kept: tuple[tuple[int, int, int], Opened] | None = None

    def get(self) -> Opened:
        """Return the opened file. Raises :class:`GeoError` if it is missing, unreadable or damaged."""
        try:
            status = self.path.stat()
        except OSError as error:
            raise GeoError(f"The IP location file {self.path} cannot be read: {error}.") from error
        stamp = (status.st_ino, status.st_size, status.st_mtime_ns)
        kept = self._kept
        if kept is None or kept[0] != stamp:
            # A file that takes its place between these two lines has another stamp, and is opened next time.
            kept = self._kept = (stamp, self._open_file(self.path))
        return kept[1]
