"""Makes providers of what stands in ``PROVIDERS``: a name, or ``{"provider": name or dotted path, **options}``."""

import difflib
import inspect
from collections.abc import Mapping
from typing import Any

from django.utils.module_loading import import_string

from django_locqueue.accesslog.geo.errors import GeoError
from django_locqueue.accesslog.geo.provider import Provider

_here = "django_locqueue.accesslog.geo"
# Paths, so that a provider's package is imported only where the provider is used.
BUILT_IN: Mapping[str, str] = {
    "reserved": f"{_here}.reserved.Reserved",
    "xdb": f"{_here}.xdb.Xdb",
    "iptocc": f"{_here}.iptocc.Iptocc",
}


def provider_name(entry: Any) -> str:
    """Return the name or path of an entry, for messages: an entry as a whole may hold a key."""
    return str(entry.get("provider", "")) if isinstance(entry, Mapping) else str(entry)


def make(entry: Any) -> Provider:
    """Return the provider of an entry. Raises :class:`GeoError` if there is none, or it does not take the options."""
    options = dict(entry) if isinstance(entry, Mapping) else {"provider": entry}
    path = options.pop("provider", None)
    if not isinstance(path, str) or not path:
        raise GeoError('An entry must be a name, or a dict with a name or a dotted path as its "provider".')
    if "." not in path and path not in BUILT_IN:
        close = difflib.get_close_matches(path, BUILT_IN, n=1)
        suggestion = f" Did you mean {close[0]!r}?" if close else ""
        raise GeoError(f"There is no provider {path!r}; there are {', '.join(BUILT_IN)}.{suggestion}")
    try:
        factory = import_string(BUILT_IN.get(path, path))
        inspect.signature(factory).bind(**options)
    except ImportError as error:
        raise GeoError(f"The provider {path!r} cannot be imported: {error}") from error
    except TypeError as error:
        raise GeoError(f"The provider {path!r}: {error}.") from error
    provider = factory(**options)
    if not isinstance(provider, Provider):
        raise GeoError(f"{path!r} makes {type(provider).__name__}, expected a subclass of {Provider.__qualname__}.")
    return provider
