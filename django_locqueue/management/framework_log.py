"""What the task framework itself writes of each task: a line for each start and end, a traceback for each failure."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from django_locqueue import compat


@contextmanager
def left_out() -> Iterator[None]:
    """Keep it from the terminal where the project has said nothing of it: who runs a command is told in our words."""
    framework = logging.getLogger(compat.LOGGER_NAME)
    if framework.handlers or framework.level != logging.NOTSET:
        yield
        return
    framework.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        framework.setLevel(logging.NOTSET)
