"""Names for visitors that are made of their addresses, and do not tell them: keyed hashes."""

import hmac
import ipaddress

BITS = 64
# The discard-only network of RFC 6666: nobody's address is in it. So a pseudonym fits the column of an address, is told
# from one by its beginning, and what counts and compares addresses works on it.
NETWORK = ipaddress.IPv6Network("100::/64")


def pseudonym(ip: str, key: bytes) -> str:
    """Return what stands for the address on the key's day: an address in ``NETWORK``."""
    return str(NETWORK[int.from_bytes(_digest(key, f"ip {ip}"))])


def visitor(ip: str, user_agent: str, key: bytes) -> str:
    """Return 16 hex digits that are the same for the same address and agent on the key's day."""
    return _digest(key, f"visitor {ip} {user_agent}").hex()


def _digest(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), "sha256")[: BITS // 8]
