"""Which hosts are this site: its own pages are told by their paths, and send nobody to it."""

from collections.abc import Callable

from django.conf import settings

from django_locqueue.accesslog.conf import until_settings_change


def is_own(host: str, named: str) -> bool:
    """Whether a page on ``host`` is one of this site. ``named``: the site as the request named it; empty if unknown.

    ``ALLOWED_HOSTS`` is asked too: a line of a log file names no host, and behind a proxy it may be another. Ports make
    no difference, nor does ``www.``.
    """
    name = name_of(host)
    return bool(name) and (name == name_of(named) or _is_allowed()(name))


@until_settings_change
def _is_allowed() -> Callable[[str], bool]:
    hosts = {name_of(host) for host in settings.ALLOWED_HOSTS} - {"*"}  # which is every site there is
    domains = tuple(host for host in hosts if host.startswith("."))
    return lambda name: name in hosts or f".{name}".endswith(domains)


def name_of(host: str) -> str:
    """Return what is compared of a host."""
    host = host.lower()
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdigit() else host).removesuffix(".").removeprefix("www.")
