"""A visitor's program in two words, for a list: ``Chrome / Windows``. The page of a request has the whole agent."""

import re

# The first that is found: nearly all of them also call themselves by the names below theirs.
BROWSERS = (
    ("Edge", r"\bEdg(e|A|iOS)?/"),
    ("Opera", r"\b(OPR|Opera)\b"),
    ("WeChat", r"\bMicroMessenger/"),
    ("QQ", r"\bM?QQBrowser/|\bQQ/"),
    ("UC", r"\bUC ?Browser/|\bUCWEB"),
    ("Samsung", r"\bSamsungBrowser/"),
    ("Firefox", r"\b(Firefox|FxiOS)/"),
    ("Chrome", r"\b(Chrome|CriOS|Chromium)/"),
    ("Internet Explorer", r"\bMSIE |\bTrident/"),
    ("Safari", r"\bVersion/[\d.]+ .*Safari/"),
)
SYSTEMS = (
    ("Android", r"\bAndroid\b"),
    ("iOS", r"\b(iPhone|iPad|iPod)\b"),
    ("Windows", r"\bWindows\b"),
    ("macOS", r"\bMac OS X\b|\bMacintosh\b"),
    ("ChromeOS", r"\bCrOS\b"),
    ("Linux", r"\bLinux\b|\bX11\b"),
)
LONGEST = 40

_browsers = [(name, re.compile(pattern)) for name, pattern in BROWSERS]
_systems = [(name, re.compile(pattern)) for name, pattern in SYSTEMS]
_product = re.compile(r"[^\s/();]+")


def program(agent: str) -> str:
    """Return browser and system; of what is no browser its own name, ``curl``; empty for no agent."""
    browser = next((name for name, pattern in _browsers if pattern.search(agent)), None)
    if browser is None:
        own = _product.match(agent)
        return own[0][:LONGEST] if own else agent[:LONGEST]
    system = next((name for name, pattern in _systems if pattern.search(agent)), None)
    return f"{browser} / {system}" if system else browser
