"""What the task framework itself logs of our tasks: a line for each start and end, a traceback for each failure."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from django_locqueue import compat
from django_locqueue.exceptions import Cancel, Expired, StepSkipped, StopTask

MEANT = (Cancel, Expired, StepSkipped, StopTask)


class MeantToEnd(logging.Filter):
    """A cancelled task is no error. The framework knows no such state, logs its end as a failure, and mails the admins.

    It becomes a line at INFO, without a traceback.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        if not record.exc_info or not isinstance(record.exc_info[1], MEANT):
            return True
        record.levelno, record.levelname, record.exc_info = logging.INFO, "INFO", None
        if isinstance(record.args, tuple) and len(record.args) == 3:
            record.args = (*record.args[:2], "CANCELLED")
        return logging.getLogger(record.name).isEnabledFor(logging.INFO)


def install() -> None:
    logging.getLogger(compat.LOGGER_NAME).addFilter(MeantToEnd())


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
