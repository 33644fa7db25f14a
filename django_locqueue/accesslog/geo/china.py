"""One spelling for each province and city of China. Else a chart has a bar for 北京 and another for 北京市."""

import re
from collections.abc import Mapping

CHINA_CODE, CHINA = "CN", "中国"

# By the first two digits of their codes (GB/T 2260): the short name, and how databases in Latin letters spell it.
_SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "11": ("北京", "Beijing", "Peking"),
    "12": ("天津", "Tianjin"),
    "13": ("河北", "Hebei"),
    "14": ("山西", "Shanxi"),
    "15": ("内蒙古", "Inner Mongolia", "Inner Mongol", "Nei Mongol", "Neimenggu"),
    "21": ("辽宁", "Liaoning"),
    "22": ("吉林", "Jilin"),
    "23": ("黑龙江", "Heilongjiang"),
    "31": ("上海", "Shanghai"),
    "32": ("江苏", "Jiangsu"),
    "33": ("浙江", "Zhejiang"),
    "34": ("安徽", "Anhui"),
    "35": ("福建", "Fujian"),
    "36": ("江西", "Jiangxi"),
    "37": ("山东", "Shandong"),
    "41": ("河南", "Henan"),
    "42": ("湖北", "Hubei"),
    "43": ("湖南", "Hunan"),
    "44": ("广东", "Guangdong", "廣東"),
    "45": ("广西", "Guangxi", "廣西"),
    "46": ("海南", "Hainan"),
    "50": ("重庆", "Chongqing", "重慶"),
    "51": ("四川", "Sichuan"),
    "52": ("贵州", "Guizhou", "貴州"),
    "53": ("云南", "Yunnan", "雲南"),
    "54": ("西藏", "Xizang", "Tibet"),
    "61": ("陕西", "Shaanxi", "陝西"),
    "62": ("甘肃", "Gansu", "甘肅"),
    "63": ("青海", "Qinghai"),
    "64": ("宁夏", "Ningxia", "寧夏"),
    "65": ("新疆", "Xinjiang", "Sinkiang"),
    "71": ("台湾", "Taiwan", "臺灣", "台灣"),
    "81": ("香港", "Hong Kong", "Xianggang"),
    "82": ("澳门", "Macau", "Macao", "Aomen", "澳門"),
}

_suffix = re.compile(
    # 特别行政区 before 区 alone: the longest comes first.
    "(特别行政区|特別行政區|维吾尔自治区|維吾爾自治區|壮族自治区|壯族自治區|回族自治区|回族自治區|自治区|自治區|省|市"
    r"|\b(uygh?ur|zhuang(zu)?|hui(zu)?|weiwu'?er)?\s*(zizhiqu|autonomous region)"
    r"|\b(province|municipality|city|sheng|shi|sar|special administrative region))$"
)
CITY_SUFFIXES = ("市", "地区", "盟")
_city_suffix = re.compile(f"(?<=..)({'|'.join(CITY_SUFFIXES)})$")
_separators = re.compile(r"[\s'’-]+")


def _plain(name: str) -> str:
    return _separators.sub("", _suffix.sub("", name.strip().lower()))


_names = {_plain(spelling): spellings[0] for spellings in _SPELLINGS.values() for spelling in spellings}


def province_name(name: str, adcode: str = "") -> str:
    """Return the short Chinese name; the name as it is, if it is of no province that we know.

    ``adcode``: the administrative code, if the provider gave one; it leaves no doubt.
    """
    by_code = _SPELLINGS.get((adcode or "")[:2])
    return by_code[0] if by_code else _names.get(_plain(name), name)


def city_name(name: str) -> str:
    """Return 杭州 for 杭州市."""
    return _city_suffix.sub("", name)


def spellings_of(short_name: str) -> tuple[str, tuple[str, ...]]:
    """Return the two digits of a province's code and the beginnings of its names; empty if we do not know it."""
    return next(((code, names) for code, names in _SPELLINGS.items() if names[0] == short_name), ("", ()))
