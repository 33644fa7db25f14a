"""What the location services say, as their documentation has it."""

from ipaddress import ip_address

KEY = "a-s3cret-key"
IN_NANJING = ip_address("49.65.250.135")
ABROAD = ip_address("8.8.8.8")
SERVICES = ("amap", "baidu", "tencent", "ip-api", "ipinfo")


def amap(**fields):
    return {"status": "1", "info": "OK", "infocode": "10000", "province": [], "city": [], "adcode": [], **fields}


def amap_refuses(infocode, info):
    return {"status": "0", "info": info, "infocode": infocode}


def baidu(**detail):
    return {
        "address": "CN|江苏|南京|None|CHINANET|0|0",
        "content": {
            "address": "江苏省南京市",
            "address_detail": detail,
            "point": {"x": "13224104.9", "y": "3748450.2"},
        },
        "status": 0,
    }


def tencent(**ad_info):
    place = {"ip": "49.65.250.135", "location": {"lat": 32.04, "lng": 118.76}, "ad_info": ad_info}
    return {"status": 0, "message": "Success", "request_id": "1", "result": place}


NANJING = {
    "amap": amap(province="江苏省", city="南京市", adcode="320100", rectangle="118.4,31.9;119.1,32.3"),
    "baidu": baidu(province="江苏省", city="南京市", city_code=315, district="", adcode="320100"),
    "tencent": tencent(nation="中国", province="江苏省", city="南京市", district="玄武区", adcode=320102),
    "ip-api": [
        {
            "query": "49.65.250.135",
            "status": "success",
            "country": "中国",
            "countryCode": "CN",
            "regionName": "江苏省",
            "city": "南京",
            "district": "",
            "lat": 32.0607,
            "lon": 118.763,
            "isp": "Chinanet",
        }
    ],
    "ipinfo": {
        "49.65.250.135": {
            "ip": "49.65.250.135",
            "city": "Nanjing",
            "region": "Jiangsu",
            "country": "CN",
            "loc": "32.0617,118.7778",
            "org": "AS4134 CHINANET-BACKBONE",
            "timezone": "Asia/Shanghai",
        }
    },
}
