"""One place, one key."""

import pytest

from django_locqueue.accesslog.analytics.keys import label
from django_locqueue.accesslog.analytics.places import keys_of
from django_locqueue.accesslog.geo.china import province_name


def key(dimension, state="located", code="CN", country="中国", province="", city="", isp="", adcode=""):
    return dict(keys_of(state, code, country, province, city, isp, adcode))[dimension]


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("北京", "北京"),
        ("北京市", "北京"),
        ("Beijing", "北京"),
        ("Beijing Shi", "北京"),
        ("新疆维吾尔自治区", "新疆"),
        ("新疆", "新疆"),
        ("Xinjiang Uygur Zizhiqu", "新疆"),
        ("Xinjiang Uyghur Autonomous Region", "新疆"),
        ("内蒙古自治区", "内蒙古"),
        ("Inner Mongolia", "内蒙古"),
        ("Nei Mongol Zizhiqu", "内蒙古"),
        ("广西壮族自治区", "广西"),
        ("Guangxi Zhuangzu Zizhiqu", "广西"),
        ("宁夏回族自治区", "宁夏"),
        ("Ningxia Hui Autonomous Region", "宁夏"),
        ("西藏自治区", "西藏"),
        ("Tibet", "西藏"),
        ("香港特别行政区", "香港"),
        ("Hong Kong", "香港"),
        ("Macao SAR", "澳门"),
        ("Shanxi", "山西"),
        ("Shaanxi Province", "陕西"),
        ("SHANGHAI", "上海"),
        ("黑龙江省", "黑龙江"),
        ("臺灣省", "台湾"),
        ("Zhejiang Sheng", "浙江"),
    ],
)
def test_a_province_of_china_has_one_name_in_any_spelling(spelling, name):
    assert province_name(spelling) == name


def test_the_administrative_code_decides_what_province_it_is():
    assert province_name("Zhe", adcode="330106") == "浙江"


def test_a_name_of_no_province_stays_as_it_is():
    assert province_name("Neverland") == "Neverland"


def test_a_province_elsewhere_keeps_its_name():
    assert key("province", code="US", country="United States", province="Taiwan Province") == "US|Taiwan Province"


def test_a_country_without_a_code_stands_by_its_name():
    assert key("country", code="", country="Утопия") == "|Утопия"
    assert key("city", code="", country="Утопия", city="Амаурот") == "Утопия||Амаурот"


def test_china_by_its_name_alone_is_china():
    assert key("province", code="", province="北京市") == key("province", province="Beijing")


def test_cities_are_spelled_alike():
    assert (
        key("city", province="浙江省", city="杭州市") == key("city", province="Zhejiang", city="杭州") == "CN|浙江|杭州"
    )


@pytest.mark.parametrize(
    ("dimension", "written", "read"),
    [
        ("country", "CN|中国", "中国"),
        ("country", "US|", "US"),
        ("country", "|Утопия", "Утопия"),
        ("country", "-", "Not a public address"),
        ("city", "CN|浙江|杭州", "杭州"),
        ("city", "CN|浙江|", "浙江 · Unknown"),
        ("city", "CN||", "CN · Unknown"),
        ("province", "", "Unknown"),
        ("referer", "", "No referrer"),
        ("path", "…", "All others"),
        ("status", "2", "2xx"),
        ("path", "/a|b", "/a|b"),
    ],
)
def test_a_key_is_read_as(dimension, written, read):
    assert label(dimension, written) == read


def test_a_bar_in_a_name_does_not_make_a_part():
    assert label("city", key("city", city="a|b")) == "a/b"


def test_addresses_that_are_not_public_are_nowhere():
    assert key("city", state="reserved", code="", country="") == "-"


def test_a_request_without_a_location_is_from_somewhere_unknown():
    assert dict(keys_of(None, None, None, None, None, None, None)) == {
        "isp": "", "country": "", "province": "", "city": "",
    }  # fmt: skip
