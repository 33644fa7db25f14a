"""ipinfo.io: the world down to cities, in English, a thousand addresses at once."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django_locqueue.accesslog.geo.errors import Transient
from django_locqueue.accesslog.geo.http_provider import HttpProvider
from django_locqueue.accesslog.geo.provider import Attribution
from django_locqueue.accesslog.geo.result import IPAddress
from django_locqueue.accesslog.geo.values import text


class Ipinfo(HttpProvider):
    """The provider. It refuses with 429 when the calls of the month are used up, and is tried again the next day."""

    name = "ipinfo"
    method = "POST"
    url = "https://ipinfo.io/batch"
    headers = {"Content-Type": "application/json", "Authorization": "Bearer {key}"}
    fields = {
        "country_code": "country",
        "province": "region",
        "city": "city",
        "isp": lambda said: text(said.get("org"), 200).partition(" ")[2],  # "AS4134 CHINANET-BACKBONE"
        "latitude": lambda said: text(said.get("loc")).partition(",")[0],
        "longitude": lambda said: text(said.get("loc")).partition(",")[2],
    }
    statuses = {**HttpProvider.statuses, "429": "day"}
    batch_size = 100  # of the 1,000 that it takes: a call that fails is made again as a whole
    max_bytes = 262_144

    def body(self, addresses: Sequence[IPAddress]) -> bytes:
        return json.dumps([str(address) for address in addresses]).encode()

    def items(self, said: Any, addresses: Sequence[IPAddress]) -> Iterator[tuple[IPAddress, Any]]:
        if not isinstance(said, Mapping):
            raise Transient(f"{self.name} answered a JSON {type(said).__name__}, expected an object.")
        return ((address, said[str(address)]) for address in addresses if str(address) in said)

    def attributions(self) -> Sequence[Attribution]:
        return [Attribution("IP address data powered by IPinfo", "https://ipinfo.io")]
