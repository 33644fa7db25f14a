"""Who sent the request: the client's address, past the proxies that the site trusts and no further.

Headers are read from the right, because every proxy appends on the right: what is left of the first hop that is
not ours was written by the client and can be anything.
"""

import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django_locqueue.accesslog.geo.result import IPAddress

IPNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network

UNIX = "unix:"  # in TRUSTED_PROXIES: a peer on a socket file, which has no address
FORWARDED = "HTTP_FORWARDED"

MAX_HEADER = 4096
MAX_HOPS = 32
MAX_HOP = 64  # the longest address, with brackets, zone and port

_bracketed = re.compile(r"\[([^\]]*)\](?::\d{1,5})?", re.ASCII)
_with_port = re.compile(r"([^:]*):\d{1,5}", re.ASCII)
# RFC 7239 section 4: pairs of token=token or token="quoted", divided by semicolons.
_name = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_pair = re.compile(rf'\s*({_name})=(?:({_name})|"((?:[^"\\]|\\.)*)")\s*', re.ASCII)


@dataclass(frozen=True, slots=True)
class Trust:
    """Whose word counts. Nothing configured: nobody's, and the address is the socket's.

    ``networks`` and ``unix``: proxies known by address. ``count``: proxies known by number. ``header``: its META key.
    """

    networks: tuple[IPNetwork, ...] = ()
    unix: bool = False
    count: int | None = None
    header: str = "HTTP_X_FORWARDED_FOR"

    @classmethod
    def parse(cls, proxies: Iterable[Any], count: Any, header: Any) -> "Trust":
        """Build from settings. What is wrong is left out, thus not trusted; a system check reports it."""
        proxies = [proxies] if isinstance(proxies, str) else list(proxies or ())
        networks = tuple(net for net in map(parse_network, proxies) if net is not None)
        number = count if isinstance(count, int) and not isinstance(count, bool) and count > 0 else None
        return cls(networks, UNIX in proxies, number, str(header))

    @property
    def is_empty(self) -> bool:
        return not self.networks and not self.unix and self.count is None

    def covers(self, address: IPAddress) -> bool:
        return any(address in network for network in self.networks if network.version == address.version)


def parse_network(text: Any) -> IPNetwork | None:
    """Return the network, an address being one of its own; None for ``unix:`` and for anything else."""
    try:
        return ipaddress.ip_network(text) if isinstance(text, str) else None
    except ValueError:
        return None


def client_ip(meta: Mapping[str, Any], trust: Trust) -> str | None:
    """Return the client's address in canonical form, or None if there is none to trust. Never raises."""
    remote = meta.get("REMOTE_ADDR") or ""
    if trust.is_empty:
        return _canonical_text(remote) if isinstance(remote, str) and len(remote) <= MAX_HOP else None
    peer = parse_hop(remote)
    if trust.networks or trust.unix:
        on_socket_file = isinstance(remote, str) and (not remote or remote.startswith(UNIX))
        if not (trust.unix if on_socket_file else peer is not None and trust.covers(peer)):
            return _canonical(peer)  # not one of our proxies: its headers are its own invention
        return _canonical(_first_untrusted(_hops(meta, trust), trust, peer))
    return _canonical(_nth(_hops(meta, trust), trust.count or 0, peer))


def _first_untrusted(hops: Iterator[IPAddress | None], trust: Trust, peer: IPAddress | None) -> IPAddress | None:
    last_good = peer
    for hop in hops:
        if hop is None:  # nobody vouches for what is left of a hop that cannot be read
            break
        last_good = hop
        if not trust.covers(hop):
            break
    return last_good


def _nth(hops: Iterator[IPAddress | None], count: int, peer: IPAddress | None) -> IPAddress | None:
    for position, hop in enumerate(hops, 1):
        if hop is None:
            break
        if position == count:
            return hop
    # Fewer hops than proxies: the request did not come all the way through them, so the header proves nothing.
    return peer


def _hops(meta: Mapping[str, Any], trust: Trust) -> Iterator[IPAddress | None]:
    """Yield the header's addresses from the right; None for one that cannot be read."""
    value = meta.get(trust.header)
    if not isinstance(value, str) or not value.strip():
        return
    if len(value) > MAX_HEADER:
        # The first hop of the rest may have lost its head: half an address is another address.
        value = value[-MAX_HEADER:].partition(",")[2]
    # RFC 7239 allows a comma in quotes, but no address has one; cutting at every comma from the right keeps a
    # quote that the client left open from swallowing what our proxy appended.
    read = parse_forwarded if trust.header == FORWARDED else parse_hop
    for hop in value.rsplit(",", MAX_HOPS)[: -MAX_HOPS - 1 : -1]:
        yield read(hop)


def parse_forwarded(element: str) -> IPAddress | None:
    """Return the ``for=`` address of one element of ``Forwarded``; None if hidden, missing, repeated or malformed."""
    found = None
    for part in element.split(";"):
        pair = _pair.fullmatch(part)
        if pair is None:
            return None
        if pair[1].lower() == "for":
            if found is not None:
                return None
            found = pair[2] if pair[2] is not None else re.sub(r"\\(.)", r"\1", pair[3])
    return parse_hop(found)


def parse_hop(text: Any) -> IPAddress | None:
    """Return the address in ``1.2.3.4``, ``1.2.3.4:80``, ``2001:db8::1`` or ``[2001:db8::1%eth0]:443``, else None."""
    return _parse(text) if isinstance(text, str) and len(text) <= MAX_HOP else None


@lru_cache(maxsize=4096)  # a site's visitors come back, and its proxies are few
def _parse(text: str) -> IPAddress | None:
    text = text.strip(" \t")
    if text.startswith("[") or text.count(":") == 1:
        match = _bracketed.fullmatch(text) or _with_port.fullmatch(text)
        text = match[1] if match else ""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])  # PostgreSQL's inet refuses a zone
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        return address.ipv4_mapped  # what a dual-stack socket calls an IPv4 client
    return address


@lru_cache(maxsize=4096)
def _canonical_text(remote: str) -> str | None:
    return _canonical(_parse(remote))


def _canonical(address: IPAddress | None) -> str | None:
    return None if address is None else str(address)
