"""百度 Baidu: provinces, cities and some districts of China, for IPv4. Its coordinates are its own, and not taken."""

from collections.abc import Mapping
from urllib.parse import quote, quote_plus, urlsplit

from django_locqueue.accesslog.geo.china import CHINA, CHINA_CODE
from django_locqueue.accesslog.geo.http_provider import HttpProvider
from django_locqueue.accesslog.geo.signature import digest


class Baidu(HttpProvider):
    """The provider. Of an address abroad it says that locating failed, with the status of a fault of its own."""

    name = "baidu"
    url = "https://api.map.baidu.com/location/ip"
    params = {"ip": "{ip}", "ak": "{key}"}
    fields = {
        "province": "content.address_detail.province",
        "city": "content.address_detail.city",
        "district": "content.address_detail.district",
        "adcode": "content.address_detail.adcode",
    }
    constants = {"country_code": CHINA_CODE, "country": CHINA}
    ok = {"status": "0"}
    refusals = {
        "message": {"*loc failed*": "unknown", "*ip illegal*": "unknown"},
        "status": {
            "4": "day",
            "30?": "day",
            "40?": "second",
            "[359]": "denied",
            "10?": "denied",
            "2??": "denied",  # key, signature, list of addresses, rights
        },
    }
    families = frozenset({4})
    countries = frozenset({CHINA_CODE})
    interval = 0.4  # a key that nothing was paid for has three calls a second
    time_zone = "Asia/Shanghai"

    def signed(self, params: Mapping[str, str], secret: str) -> Mapping[str, str]:
        # In the order in which they are sent, encoded, and then encoded again with the secret behind them.
        query = "&".join(f"{name}={value}" for name, value in params.items())
        once = quote(f"{urlsplit(self.url).path}?{query}", safe="/:=&?#+!$,;'@()*[]")
        return {**params, "sn": digest(quote_plus(once + secret))}
