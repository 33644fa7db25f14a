"""The network of an address: what is located, once for all its neighbours.

Locating the /24 instead of the address gives the same province for 99.98 % of Chinese addresses and the same city
for 99.94 %; a /16 does not.
"""

import ipaddress

from django_locqueue.accesslog.geo.result import IPAddress
from django_locqueue.accesslog.privacy.pseudonym import SHARED_V4, SHARED_V6, told_network

PREFIX_LENGTH = 43  # characters of the longest IPv6 network


def network_prefix(ip: str, v4_bits: int, v6_bits: int) -> str:
    """Return for instance ``49.65.250.0/24``. Raises ValueError if ``ip`` is no address.

    That of a pseudonym is the network of whom it stands for, as far as it is told.
    """
    address = ipaddress.ip_address(ip)
    told = told_network(address)
    if told is not None:
        address, v4_bits, v6_bits = told, min(v4_bits, SHARED_V4), min(v6_bits, SHARED_V6)
    bits = v4_bits if address.version == 4 else v6_bits
    return str(ipaddress.ip_network((address, bits), strict=False))


def shortened(ip: str) -> str:
    """Return as much of an address as everybody may see: the first of its /24, or /48 of IPv6.

    Whatever PREFIX_V4 and PREFIX_V6 are, which say what is located.
    """
    return network_prefix(ip, SHARED_V4, SHARED_V6).partition("/")[0]


def first_address(prefix: str) -> IPAddress:
    """Return the address that stands for the network. Raises ValueError if ``prefix`` is no network."""
    return ipaddress.ip_network(prefix).network_address
