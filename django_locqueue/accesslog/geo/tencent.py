"""腾讯 Tencent: districts of China, and the country of other addresses. Its coordinates are GCJ-02, and not taken."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from django_locqueue.accesslog.geo.http_provider import HttpProvider
from django_locqueue.accesslog.geo.signature import digest, sorted_query


class Tencent(HttpProvider):
    """The provider."""

    name = "tencent"
    url = "https://apis.map.qq.com/ws/location/v1/ip"
    params = {"ip": "{ip}", "key": "{key}"}
    fields = {
        "country": "result.ad_info.nation",
        "province": "result.ad_info.province",
        "city": "result.ad_info.city",
        "district": "result.ad_info.district",
        "adcode": "result.ad_info.adcode",
    }
    ok = {"status": "0"}
    refusals = {
        "status": {
            "120": "second",
            "121": "day",
            "122": "minute",
            "123": "denied",  # nothing is left of what was paid
            "11?": "denied",
            "19?": "denied",
            "311": "denied",
            "375": "unknown",  # an address of a local network
            "382": "unknown",
        }
    }
    interval = 0.25  # five calls a second, less a margin
    time_zone = "Asia/Shanghai"

    def signed(self, params: Mapping[str, str], secret: str) -> Mapping[str, str]:
        return {**params, "sig": digest(f"{urlsplit(self.url).path}?{sorted_query(params)}{secret}")}
