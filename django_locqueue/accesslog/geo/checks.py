"""System checks of ``GEO``: whether its providers can be made and their files read, before a worker needs them."""

import datetime
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from django.core.checks import CheckMessage, Error, Warning, register

from django_locqueue.accesslog.conf import GEO_DEFAULTS, access_log, geo
from django_locqueue.accesslog.geo.errors import GeoError, NotInstalled
from django_locqueue.accesslog.geo.provider import Provider
from django_locqueue.accesslog.geo.registry import BUILT_IN, make
from django_locqueue.accesslog.kinds import Kind, a_list, guess, number, setting, truth, unless, wrong_values

OLD = datetime.timedelta(days=365)


def _is_file(value: Any) -> bool:
    return value is None or isinstance(value, str | os.PathLike)


_path = Kind(
    "E056",
    unless(_is_file, "has {!r}, which is no path"),
    "Write the path of the file as a text or a pathlib.Path.",
)
KINDS = {
    "PROVIDERS": a_list("E014", (list, tuple)),  # a set has no order
    "XDB_V4": _path,
    "XDB_V6": _path,
    "MMDB": a_list("E014", (list, tuple)),
    "MIN_INTERVAL": number("E051", 0, 3600, "a number of seconds"),
    "CONNECT_TIMEOUT": number("E051", 0.01, 60, "a number of seconds"),
    "READ_TIMEOUT": number("E051", 0.01, 60, "a number of seconds"),
    "MAX_ATTEMPTS": number("E054", 1, 100, "a whole number"),
    "CACHE_DAYS": number("E054", 1, 3650, "a number of days"),
    "NEGATIVE_HOURS": number("E054", 1, 8760, "a number of hours"),
    "SEND_TRUNCATED": truth("E052"),
}


@register()
def check_geo(**_: Any) -> list[CheckMessage]:
    messages = list(_values())
    if messages:
        return messages  # of which no provider can be made
    providers: list[Provider] = []
    for entry in geo("PROVIDERS"):
        messages += _entry(entry, providers)
    messages += _together(providers)
    messages += [message for provider in providers if not provider.is_packaged for message in _age(provider)]
    return messages


@register(deploy=True)
def check_packaged_data(**_: Any) -> list[CheckMessage]:
    """Warn of old data that came with a package. Not at every start: no newer release of it may exist."""
    providers: list[Provider] = []
    if not list(_values()):
        for entry in geo("PROVIDERS"):
            list(_entry(entry, providers))  # what is wrong with it is check_geo's to say
    return [message for provider in providers if provider.is_packaged for message in _age(provider)]


def _values() -> Iterator[CheckMessage]:
    given = access_log.GEO
    if not isinstance(given, Mapping):
        yield Error(
            f"{setting('GEO')} is {given!r}.",
            hint=f"Use a dict with any of the keys {', '.join(GEO_DEFAULTS)}.",
            id="locqueue_accesslog.E009",
        )
        return
    for key in given.keys() - GEO_DEFAULTS.keys():
        yield Error(
            f"{setting('GEO')} has no key {key!r}.",
            hint=f"It has {', '.join(GEO_DEFAULTS)}.{guess(key, GEO_DEFAULTS)}",
            id="locqueue_accesslog.E055",
        )
    yield from wrong_values(KINDS, {"MMDB": _path}, geo, "GEO")


def _entry(entry: Any, providers: list[Provider]) -> Iterator[CheckMessage]:
    """Append the provider of an entry to ``providers``, or say why there is none. Nothing shows a key."""
    try:
        provider = make(entry)
    except NotInstalled as error:
        yield Warning(
            f"{error.what} What it would know will be unknown.",
            hint=f"{error.remedy} Or leave the provider out of {setting('GEO', 'PROVIDERS')}.",
            id="locqueue_accesslog.W004",
        )
        return
    except GeoError as error:
        yield Error(
            f"{setting('GEO', 'PROVIDERS')}: {error}",
            hint=f'Write a name ({", ".join(BUILT_IN)}), or {{"provider": a name or a dotted path, and its options}}.',
            id="locqueue_accesslog.E010",
        )
        return
    try:
        provider.built()
    except GeoError as error:
        yield Error(
            str(error),
            hint=f"See {setting('GEO')}: XDB_V4, XDB_V6 and MMDB are paths of files that a worker can read.",
            id="locqueue_accesslog.E011",
        )
        return
    providers.append(provider)


def _together(providers: list[Provider]) -> Iterator[CheckMessage]:
    online = [provider.name for provider in providers if not provider.offline]
    for name, count in Counter(online).items():
        if count > 1:
            yield Error(
                f"{setting('GEO', 'PROVIDERS')} has {count} services called {name!r}: they would share one rate and "
                "one record of failures.",
                hint='Give each a "name" of its own.',
                id="locqueue_accesslog.E053",
            )
    if online and not geo("SEND_TRUNCATED"):
        yield Warning(
            f"{setting('GEO', 'SEND_TRUNCATED')} is False: visitors' whole addresses are sent to {', '.join(online)}.",
            hint="The network's first address gives the same province for 99.98 % of addresses. Remove the setting.",
            id="locqueue_accesslog.W051",
        )


def _age(provider: Provider) -> Iterator[CheckMessage]:
    days = provider.built()
    if days and min(days) < datetime.datetime.now(datetime.UTC).date() - OLD:
        packaged = "Upgrade its package, or download ip2region_v4.xdb and set XDB_V4"
        newer = packaged if provider.is_packaged else "Rename a newer file over the old one"
        yield Warning(
            f"The data of the provider {provider.name!r} are from {min(days)}, more than a year ago: networks that "
            "have moved since are in the wrong place.",
            hint=f"{newer}; running workers notice, and locate again what they know from the old ones.",
            id="locqueue_accesslog.W052",
        )
