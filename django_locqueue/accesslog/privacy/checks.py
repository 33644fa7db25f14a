"""System checks of the settings that say what is kept, and for how long."""

from collections.abc import Iterator
from typing import Any

from django.core.checks import CheckMessage, Error, Warning, register

from django_locqueue.accesslog.conf import access_log
from django_locqueue.accesslog.privacy.policy import TRUNCATE
from django_locqueue.accesslog.privacy.pseudonym import SHARED_V4, SHARED_V6
from django_locqueue.accesslog.privacy.secret_names import is_secret_parameter
from django_locqueue.conf import place

MOST_DAYS = 36_500


def setting(key: str) -> str:
    return place("LOCQUEUE", "ACCESS_LOG", key)


@register()
def check_privacy(**_: Any) -> list[CheckMessage]:
    return [*_switches(), *_query_params(), *_prefixes(), *_retention()]


def _switches() -> Iterator[CheckMessage]:
    for key in ("RESPECT_GPC", "RESPECT_DNT"):
        value = getattr(access_log, key)
        if not isinstance(value, bool):
            yield Error(
                f"{setting(key)} is {value!r}.",
                hint="Use True or False; a text from the environment is true, whatever it says.",
                id="locqueue_accesslog.E040",
            )


def _query_params() -> Iterator[CheckMessage]:
    names = access_log.QUERY_PARAMS
    for name in names if isinstance(names, list | tuple | set | frozenset) else ():
        if not isinstance(name, str) or not name or "*" in name[:-1]:
            yield Error(
                f"{setting('QUERY_PARAMS')} contains {name!r}, which is no name of a parameter.",
                hint='Write names ("q"), or beginnings of names with a star at the end ("utm_*").',
                id="locqueue_accesslog.E041",
            )
        elif is_secret_parameter(name):
            yield Error(
                f"{setting('QUERY_PARAMS')} contains {name!r}, which is never kept: its name says that it is secret.",
                hint="Take it out. If it is no secret, give the parameter a name that says what it is.",
                id="locqueue_accesslog.E042",
            )


def _prefixes() -> Iterator[CheckMessage]:
    if access_log.IP_STORAGE != TRUNCATE:
        return
    for key, shared in (("PREFIX_V4", SHARED_V4), ("PREFIX_V6", SHARED_V6)):
        bits = getattr(access_log, key)
        if isinstance(bits, int) and bits > shared:
            yield Warning(
                f"{setting('IP_STORAGE')} is {access_log.IP_STORAGE!r}, but what is kept of an address with "
                f"{setting(key)} = {bits} is nearly the address.",
                hint=f"Use {shared} or less.",
                id="locqueue_accesslog.W040",
            )


def _retention() -> Iterator[CheckMessage]:
    for key in ("RETENTION_DAYS", "ROLLUP_RETENTION_DAYS"):
        days = getattr(access_log, key)
        if days is not None and (isinstance(days, bool) or not isinstance(days, int) or not 1 <= days <= MOST_DAYS):
            yield Error(
                f"{setting(key)} is {days!r}.",
                hint=f"Use a whole number of days from 1 to {MOST_DAYS}, or None to keep all for ever.",
                id="locqueue_accesslog.E043",
            )
    if access_log.RETENTION_DAYS is None:
        yield Warning(
            f"{setting('RETENTION_DAYS')} is None: addresses of visitors are kept for ever, and the table grows.",
            hint="Use a number of days. If you must keep the log, silence this check in SILENCED_SYSTEM_CHECKS.",
            id="locqueue_accesslog.W041",
        )
