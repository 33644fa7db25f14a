"""System checks of how often a network is asked for."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.core.checks import CheckMessage, Error, register

from django_locqueue.accesslog.checks import setting
from django_locqueue.accesslog.conf import access_log, geo

# Least and most of each, and what it is.
RANGES: Mapping[str, tuple[float, float, str]] = {
    "MAX_ATTEMPTS": (1, 100, "a whole number"),
    "CACHE_DAYS": (1, 3650, "a number of days"),
    "NEGATIVE_HOURS": (1, 8760, "a number of hours"),
}


@register()
def check_locating(**_: Any) -> list[CheckMessage]:
    if not isinstance(access_log.GEO, Mapping):
        return []  # the check of the providers says so
    return list(_values())


def _values() -> Iterator[CheckMessage]:
    for key, (least, most, what) in RANGES.items():
        value = geo(key)
        kinds = int if key == "MAX_ATTEMPTS" else (int, float)
        if isinstance(value, bool) or not isinstance(value, kinds) or not least <= value <= most:
            yield Error(
                f"{setting('GEO', key)} is {value!r}.",
                hint=f"Use {what} from {least} to {most}.",
                id="locqueue_accesslog.E054",
            )
