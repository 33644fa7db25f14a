"""高德 Amap: provinces and cities of China, for IPv4.

Its rectangle of coordinates is not taken: it is GCJ-02, which is some hundred metres beside what maps elsewhere show.
"""

from collections.abc import Mapping

from django_locqueue.accesslog.geo.china import CHINA, CHINA_CODE
from django_locqueue.accesslog.geo.http_provider import HttpProvider
from django_locqueue.accesslog.geo.signature import digest, sorted_query


class Amap(HttpProvider):
    """The provider. Of an address abroad it says nothing, as ``"province": []``."""

    name = "amap"
    url = "https://restapi.amap.com/v3/ip"
    params = {"ip": "{ip}", "key": "{key}"}
    fields = {"province": "province", "city": "city", "adcode": "adcode"}
    constants = {"country_code": CHINA_CODE, "country": CHINA}
    ok = {"status": "1"}
    refusals = {
        "infocode": {
            "10003": "day",
            "1004[45]": "day",
            "10004": "minute",
            "10014": "second",
            "10019": "second",
            "1002[0-5]": "second",
            "1000[1-9]": "denied",  # key, signature, list of addresses, rights
            "1001[0-3]": "denied",
            "10026": "denied",
            "4000?": "denied",  # nothing is left of what was paid
        }
    }
    families = frozenset({4})
    countries = frozenset({CHINA_CODE})
    time_zone = "Asia/Shanghai"

    def signed(self, params: Mapping[str, str], secret: str) -> Mapping[str, str]:
        return {**params, "sig": digest(sorted_query(params) + secret)}
