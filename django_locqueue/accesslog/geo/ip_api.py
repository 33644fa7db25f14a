"""ip-api.com: the world, down to districts, a hundred addresses at once.

Without a key it is for non-commercial use only, and by plain HTTP; with one it is their service at pro.ip-api.com.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django_locqueue.accesslog.conf import geo
from django_locqueue.accesslog.geo.errors import Transient, as_seconds
from django_locqueue.accesslog.geo.http_client import HttpAnswer
from django_locqueue.accesslog.geo.http_provider import HttpProvider
from django_locqueue.accesslog.geo.result import IPAddress

PRO = "https://pro.ip-api.com/batch"


class IpApi(HttpProvider):
    """The provider. Who calls too often, or in the ``X-Ttl`` seconds after ``X-Rl: 0``, is banned for good."""

    name = "ip-api"
    method = "POST"
    url = "http://ip-api.com/batch"
    params = {
        "fields": "status,message,country,countryCode,regionName,city,district,lat,lon,isp,query",
        "lang": "zh-CN",
        "key": "{key}",
    }
    headers = {"Content-Type": "application/json"}
    fields = {
        "country_code": "countryCode",
        "country": "country",
        "province": "regionName",
        "city": "city",
        "district": "district",
        "isp": "isp",
        "latitude": "lat",
        "longitude": "lon",
    }
    ok = {"status": "success"}
    refusals = {"message": {"private range": "unknown", "reserved range": "unknown", "invalid query": "unknown"}}
    batch_size = 100
    interval = 4.0  # 15 batches a minute
    max_bytes = 262_144
    needs_key = False

    def __init__(self, key: str = "", secret: str = "", **options: Any) -> None:
        paid = {"url": PRO, "interval": geo("MIN_INTERVAL")} if key else {}
        super().__init__(key, secret, **{**paid, **options})

    def body(self, addresses: Sequence[IPAddress]) -> bytes:
        return json.dumps([str(address) for address in addresses]).encode()

    def items(self, said: Any, addresses: Sequence[IPAddress]) -> Iterator[tuple[IPAddress, Any]]:
        if not isinstance(said, list):
            raise Transient(f"{self.name} answered a JSON {type(said).__name__}, expected a list.")
        by_address = {str(item.get("query")): item for item in said if isinstance(item, Mapping)}
        return ((address, by_address[str(address)]) for address in addresses if str(address) in by_address)

    def wait(self, answer: HttpAnswer) -> float | None:
        return as_seconds(answer.headers.get("X-Ttl", "")) or super().wait(answer)

    def pause(self, answer: HttpAnswer) -> float:
        is_last = answer.headers.get("X-Rl", "").strip() == "0"
        return (self.wait(answer) or 60.0) if is_last else 0.0
