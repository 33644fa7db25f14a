"""Addresses that are nowhere: private, local, or set aside. They are named and never looked up.

Networks after IANA's special-purpose registries; ``ipaddress`` knows that they are special, but not what they are.
"""

import ipaddress

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from django_locqueue.accesslog.geo.provider import OfflineProvider
from django_locqueue.accesslog.geo.result import GeoResult, IPAddress

_names: tuple[tuple[Promise, tuple[str, ...]], ...] = (
    # ::/127 and not ::1, because the network that stands for ::1 begins at ::.
    (_("This computer"), ("127.0.0.0/8", "::/127")),
    (_("Private network"), ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")),
    (_("Link-local address"), ("169.254.0.0/16", "fe80::/10")),
    (_("Carrier-grade NAT"), ("100.64.0.0/10",)),
    (
        _("Address for documentation"),
        ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20"),
    ),
    (_("Address for benchmarks"), ("198.18.0.0/15", "2001:2::/48")),
    (_("Multicast address"), ("224.0.0.0/4", "ff00::/8")),
    (_("Unspecified address"), ("0.0.0.0/8",)),
)
_networks = [(ipaddress.ip_network(network), name) for name, networks in _names for network in networks]


def name_of(address: IPAddress) -> Promise | None:
    """Return what the address is set aside for; None if it is public."""
    for network, name in _networks:
        if network.version == address.version and address in network:
            return name
    if not address.is_global:
        return _("Reserved address")
    return None


def label(prefix: str) -> Promise | None:
    """``name_of`` for a stored network; None if it is public, or no network at all."""
    try:
        return name_of(ipaddress.ip_network(prefix).network_address)
    except ValueError:
        return None


class Reserved(OfflineProvider):
    """Recognises such addresses, so that no provider after it is asked."""

    name = "reserved"

    def lookup(self, address: IPAddress) -> GeoResult | None:
        return None if name_of(address) is None else GeoResult(self.name, is_reserved=True)
