"""System checks of the settings that say what is kept, and for how long."""

from collections.abc import Iterator
from typing import Any

from django.core.checks import CheckMessage, Error, Warning, register

from django_locqueue.accesslog.conf import access_log
from django_locqueue.accesslog.kinds import setting
from django_locqueue.accesslog.privacy.policy import TRUNCATE
from django_locqueue.accesslog.privacy.pseudonym import SHARED_V4, SHARED_V6
from django_locqueue.accesslog.privacy.secret_names import is_secret_parameter
from django_locqueue.accesslog.rules import as_list


@register()
def check_privacy(**_: Any) -> list[CheckMessage]:
    return [*_query_params(), *_prefixes(), *_retention()]


def _query_params() -> Iterator[CheckMessage]:
    for name in as_list(access_log.QUERY_PARAMS):
        if isinstance(name, str) and is_secret_parameter(name):
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
    if access_log.RETENTION_DAYS is None:
        yield Warning(
            f"{setting('RETENTION_DAYS')} is None: addresses of visitors are kept for ever, and the table grows.",
            hint="Use a number of days. If you must keep the log, silence this check in SILENCED_SYSTEM_CHECKS.",
            id="locqueue_accesslog.W041",
        )
