"""Which data the chain's files hold: what changes when their answers may."""

import hashlib
from collections.abc import Iterable

from django_locqueue.accesslog.geo.provider import Provider

LENGTH = 100
_HASH = 16  # hexadecimal digits of what is cut off


def data_version(providers: Iterable[Provider]) -> str:
    """Return those that answer from files, each with the version of its data: ``xdb 2024-02-28, iptocc 3.3.170``.

    Raises :class:`GeoError` if a file cannot be read: what it would say is not known then.
    """
    text = ", ".join(f"{each.name} {each.version()}".rstrip() for each in providers if each.offline)
    if len(text) <= LENGTH:
        return text
    return f"{text[: LENGTH - _HASH - 1]}#{hashlib.sha256(text.encode()).hexdigest()[:_HASH]}"
