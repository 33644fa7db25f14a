"""Makes providers of what stands in ``PROVIDERS``: a name, or ``{"provider": name or dotted path, **options}``."""

import difflib
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
    "mmdb": f"{_here}.mmdb.Mmdb",
    "iptocc": f"{_here}.iptocc.Iptocc",
    "ip-api": f"{_here}.ip_api.IpApi",
    "ipinfo": f"{_here}.ipinfo.Ipinfo",
    "amap": f"{_here}.amap.Amap",
    "baidu": f"{_here}.baidu.Baidu",
    "tencent": f"{_here}.tencent.Tencent",
    "http": f"{_here}.http_provider.HttpProvider",
    "dummy": f"{_here}.dummy.Dummy",
}


def make(entry: Any) -> Provider:
    """Return the provider of an entry. Raises :class:`GeoError` if there is none, or it does not take the options.

    No message shows the entry: it may hold a key.
    """
    options = dict(entry) if isinstance(entry, Mapping) else {"provider": entry}
    path = options.pop("provider", None)
    if not isinstance(path, str) or not path:
        raise GeoError('An entry must be a name, or a dict with a name or a dotted path as its "provider".')
    if "." not in path and path not in BUILT_IN:
        close = difflib.get_close_matches(path, BUILT_IN, n=1)
        suggestion = f" Did you mean {close[0]!r}?" if close else ""
        raise GeoError(f"There is no provider {path!r}; there are {', '.join(BUILT_IN)}.{suggestion}")
    try:
        provider = import_string(BUILT_IN.get(path, path))(**options)
    except ImportError as error:
        raise GeoError(f"The provider {path!r} cannot be imported: {error}.") from error
    except (TypeError, ValueError) as error:
        raise GeoError(f"The provider {path!r} does not take its options: {error}.") from error
    if not isinstance(provider, Provider):
        raise GeoError(f"{path!r} makes {type(provider).__name__}, expected a subclass of {Provider.__qualname__}.")
    return provider
