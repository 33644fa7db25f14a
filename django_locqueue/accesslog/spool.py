"""Files that keep hits while the queue cannot take them: for a restart of the site during an outage, or a long one.

A file is a batch. It is written under another name and renamed when it is whole, so that nobody appends to what
somebody reads, and no lock is needed: not between threads, not between processes, not between containers that share
the folder and in which every process has the number 1. Who wants to send it renames it again, and of two one succeeds.

Files that a killed process left half-written or half-sent are taken up after a while. What was sent before is not
stored twice, since each hit has its id.
"""

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from django_locqueue.accesslog.hit import Hit, new_id

MOST_BYTES = 64 * 2**20  # in the folder, whoever wrote it
WHOLE, WRITING, SENDING = ".jsonl", ".writing", ".sending"
ABANDONED_AFTER_SECONDS = 300.0  # a batch is written in milliseconds, and sent before any database gives up waiting


@dataclass(frozen=True, slots=True)
class SpoolFile:
    """A batch that only this process has. Ends by ``remove`` or ``give_back``."""

    path: Path

    def read(self) -> tuple[list[Hit], int]:
        """Return the hits, and how many lines hold none (the last, if its process was killed). Raises OSError."""
        hits, bad = [], 0
        for line in self.path.read_bytes().splitlines():
            try:
                hits.append(Hit.from_json(json.loads(line)))
            except ValueError:  # no JSON, no UTF-8, or no hit
                bad += 1
        return hits, bad

    def remove(self) -> None:
        """It is sent."""
        self.path.unlink(missing_ok=True)

    def give_back(self) -> None:
        """Leave it for the next to try."""
        with suppress(OSError):  # it is taken up again in any case
            self.path.replace(self.path.with_suffix(WHOLE))


@dataclass(frozen=True, slots=True)
class Spool:
    """The files in a folder that exists and may be written to; the system check sees to that."""

    folder: Path

    def write(self, hits: Sequence[Hit]) -> bool:
        """Keep the hits; return False if there is no room for them. Raises OSError where the folder has a fault."""
        data = "".join(json.dumps(hit.to_json(), separators=(",", ":")) + "\n" for hit in hits).encode()
        if sum(size for _, size, _ in self._files()) + len(data) > MOST_BYTES:
            return False
        # By age, as far as the clocks agree: the oldest is sent first.
        path = self.folder / f"{time.time_ns():020}-{os.getpid()}-{new_id()[:8]}{WRITING}"
        try:
            # Addresses are in it: nobody else's to read. Not synced: it outlives the process, not the machine.
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(data)
            path.replace(path.with_suffix(WHOLE))
        except BaseException:  # a full disk, most likely
            with suppress(OSError):
                path.unlink(missing_ok=True)
            raise
        return True

    def claim(self) -> SpoolFile | None:
        """Take the oldest file that nobody has; None if there is none. Raises OSError if one cannot be taken, and it
        alone is left."""
        abandoned = time.time() - ABANDONED_AFTER_SECONDS
        fault: OSError | None = None
        for path, _, touched in sorted(self._files()):
            if path.suffix != WHOLE and touched > abandoned:
                continue
            claimed = path.with_suffix(SENDING)
            try:
                os.utime(path)  # before the name: else another would take it for abandoned in between
                path.replace(claimed)
            except FileNotFoundError:
                continue  # another process was faster
            except OSError as error:  # another user's, say; it holds up no other
                fault = error
                continue
            return SpoolFile(claimed)
        if fault is not None:
            raise fault
        return None

    def _files(self) -> Iterator[tuple[Path, int, float]]:
        """Yield path, size in bytes and last change in seconds since 1970 of each."""
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if entry.name.endswith((WHOLE, WRITING, SENDING)):
                    with suppress(FileNotFoundError):
                        found = entry.stat()
                        yield Path(entry.path), found.st_size, found.st_mtime
