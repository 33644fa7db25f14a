"""Which clients are programs. A guess from the user agent, for telling visitors from noise."""

import re
from functools import lru_cache

_words = (  # CUBOT makes phones
    r"(?<!cu)bot\b|crawl|spider|slurp|scrape|archiver|curl/|wget|python-|python/|aiohttp|httpx|urllib|go-http|java/|okhttp"
    r"|libwww|perl/|ruby|php/|guzzle|axios|node-fetch|headless|phantomjs|selenium|lighthouse|monitor|uptime|pingdom"
    r"|statuscake|kube-probe|healthcheck|zabbix|nagios|prometheus|scan|nmap|nikto|sqlmap|masscan|feed|\brss|preview"
    r"|facebookexternalhit|gptbot|claudebot|bytespider|postman|insomnia|httpie"
)
_bots = re.compile(_words, re.IGNORECASE)


@lru_cache(maxsize=2048)
def is_bot(user_agent: str) -> bool:
    """Return whether a program sent it. No user agent at all is a program: every browser sends one."""
    return not user_agent.strip() or _bots.search(user_agent) is not None
