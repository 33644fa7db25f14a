"""Names for visitors that are made of their addresses, and do not tell them: keyed hashes.

BLAKE2 and not HMAC with SHA-256: its key makes it as good a MAC (RFC 7693, section 2.9) at a fifth of the time, which a
web process spends for each request.
"""

import ipaddress
from hashlib import blake2b

from django_locqueue.accesslog.geo.result import IPAddress

# Bits of a network that many share. A longer one is nearly an address.
SHARED_V4, SHARED_V6 = 24, 48

# The end of what RFC 9637 keeps for documentation: nobody's address is in it. So a pseudonym fits the column of an
# address, and what counts, compares, locates or shows addresses need not know that it is none.
NETWORK = ipaddress.IPv6Network("3fff:fff::/32")
_BEGINNING = int(NETWORK.network_address) >> 96
_NETWORK_BITS = _HASH_BITS = 48


def pseudonym(ip: str, key: bytes) -> str:
    """Return what stands for the address on the key's day.

    It is an address in ``NETWORK``, of which the next 48 bits tell the network (/24, or /48 of IPv6), and the last are
    a hash of the address.
    """
    address = ipaddress.ip_address(ip)
    number = int(address)
    # 32 bits of IPv4 behind 16 zeros, with which no network of IPv6 begins that is in use.
    told = number >> 8 << 8 if address.version == 4 else number >> 128 - _NETWORK_BITS
    digest = blake2b(ip.encode(), key=key, person=b"ip", digest_size=_HASH_BITS // 8).digest()
    return str(ipaddress.IPv6Address(_BEGINNING << 96 | told << _HASH_BITS | int.from_bytes(digest)))


def told_network(address: IPAddress) -> IPAddress | None:
    """Return the first address of the network that a pseudonym tells; None if it is none but an address."""
    number = int(address)
    if address.version == 4 or number >> 96 != _BEGINNING:
        return None
    told = number >> _HASH_BITS & (1 << _NETWORK_BITS) - 1
    return ipaddress.IPv4Address(told) if told < 1 << 32 else ipaddress.IPv6Address(told << 128 - _NETWORK_BITS)


def visitor(ip: str, user_agent: str, key: bytes) -> str:
    """Return 16 hex digits that are the same for the same address and agent on the key's day."""
    text = f"{ip} {user_agent}".encode()
    return blake2b(text, key=key, person=b"visitor", digest_size=8).hexdigest()
