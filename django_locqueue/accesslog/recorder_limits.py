"""How much the recorder holds, and for how long: its settings, read once."""

from dataclasses import dataclass
from pathlib import Path

from django_locqueue.accesslog.conf import access_log, until_settings_change
from django_locqueue.accesslog.spool import Spool

# A spool is filled by a thread, and requests go on meanwhile: it is started before the buffer is full.
SPOOLED_FROM = 0.75


@dataclass(frozen=True, slots=True)
class RecorderLimits:
    """Sizes are in hits, times in seconds."""

    buffer_size: int
    crowded: int  # a buffer that holds as many needs room
    batch: int
    interval: float
    exit_timeout: float
    drop_new: bool
    to_log: bool  # hits become lines of the log, and no task
    spool: Spool | None


@until_settings_change
def current_limits() -> RecorderLimits:
    """Return the limits of the present settings."""
    buffer_size = max(1, int(access_log.BUFFER_SIZE))
    spool = Spool(Path(access_log.SPOOL_DIR)) if access_log.OVERFLOW == "spool" and access_log.SPOOL_DIR else None
    return RecorderLimits(
        buffer_size=buffer_size,
        crowded=buffer_size if spool is None else max(1, int(buffer_size * SPOOLED_FROM)),
        batch=max(1, int(access_log.BATCH)),
        interval=float(access_log.INTERVAL),
        exit_timeout=float(access_log.EXIT_TIMEOUT),
        drop_new=access_log.OVERFLOW == "drop_new",
        to_log=access_log.BACKEND == "logging",
        spool=spool,
    )
