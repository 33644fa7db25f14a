"""Times as a person types them (``30m``, ``2h``, or a date and time), and as a terminal shows them."""

import argparse
import re
from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.dateparse import parse_datetime

from django_locqueue import clock

_SPAN = re.compile(r"(\d{1,6})\s*([smhd])", re.ASCII)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def until(text: str) -> datetime | timedelta:
    """Return how long, or the time, aware in the project's zone where the text names none. For ``argparse``."""
    if match := _SPAN.fullmatch(text.strip()):
        return timedelta(**{_UNITS[match[2]]: int(match[1])})
    try:
        moment = parse_datetime(text.strip())
    except ValueError:
        moment = None
    if moment is None:
        raise argparse.ArgumentTypeError(f'give 30m, 2h, 1d or "2026-12-01 08:00", not {text!r}')
    return moment if timezone.is_aware(moment) else timezone.make_aware(moment)


def shown(moment: datetime | None) -> str:
    """Return ``2026-12-01 08:00:00``, in the project's time zone; nothing for None."""
    return "" if moment is None else f"{clock.local(moment):%Y-%m-%d %H:%M:%S}"
