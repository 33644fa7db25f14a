"""What became of this process's hits."""

from dataclasses import dataclass


@dataclass(slots=True)
class Counts:
    """Read by whoever wants to know; a race of two threads may lose a one."""

    sent: int = 0
    dropped: int = 0  # the buffer was full
    refused: int = 0  # could not be cleaned, or the queue would never take it
    failures: int = 0  # tries to enqueue that failed, because the database could not be used
    full: int = 0  # and because the queue held as many tasks as its MAX_PENDING allows
    errors: int = 0  # requests that could not be made into a hit
    spooled: int = 0  # written to SPOOL_DIR
    imported: int = 0  # sent from there, whichever process had written them
