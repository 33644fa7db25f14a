"""Goes through the pages as a person with a mouse would, and keeps what was shown."""

from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

from django.contrib import admin
from django.db import transaction
from django.test import Client

from django_locqueue.admin.pages import PAGES
from tests.pages.addresses import ADDRESSES, NOBODY, names_of
from tests.pages.reading import Page
from tests.pages.world import APPS, World

OF_A_KIND = 2  # of a filter's choices: each is the same page with other rows


class Shown(dict[str, str]):
    """What was shown, by address; ``refused``: the addresses that a page leads to and that show nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.refused: dict[str, int] = {}
        self.left: set[str] = set()  # addresses of other sites
        self.files: dict[str, str] = {}  # CSV, JSON

    def words_of(self, url: str) -> str:
        return " ".join(Page(self[url]).words)


def crawl(client: Client, world: World, site: str = "admin") -> Shown:
    """Follow every link of every page of ours. Of filters one at a time: what links lead to is not followed further."""
    shown = Shown()
    starts = [
        ADDRESSES[name].url(name, world, site)
        for model in PAGES
        for name in names_of(admin.site.get_model_admin(model))
        if name in ADDRESSES and not ADDRESSES[name].changes and NOBODY not in ADDRESSES[name].needs
    ]
    for url in starts:
        _look(client, url, shown)
    seen: Counter[Any] = Counter()
    for url in dict.fromkeys(link for start in starts if start in shown for link in _links(start, shown, site)):
        parts = urlsplit(url)
        kind = (parts.path, *parse_qs(parts.query, keep_blank_values=True))
        seen[kind] += 1
        if url not in shown and url not in shown.files and seen[kind] <= OF_A_KIND:
            _look(client, url, shown)
    shown.update(_confirmations(client, world, site))
    return shown


def _look(client: Client, url: str, shown: Shown) -> None:
    response = client.get(url)
    if response.status_code == 200 and not response.headers["Content-Type"].startswith("text/html"):
        shown.files[url] = b"".join(response).decode()
    elif response.status_code == 200:
        shown[url] = b"".join(response).decode()
    elif response.status_code != 302:
        shown.refused[url] = response.status_code


def _links(start: str, shown: Shown, site: str) -> Iterator[str]:
    root = f"/{site}/"
    for link in Page(shown[start]).links:
        url = urljoin(start, link)
        parts = urlsplit(url)
        if parts.netloc or not parts.path.startswith(tuple(f"{root}{label}/" for label in APPS)):
            if not parts.netloc and not parts.path.startswith(root) and parts.path:
                shown.left.add(url)
            continue
        yield url.partition("#")[0]


def _confirmations(client: Client, world: World, site: str) -> dict[str, str]:
    """Return what is asked before a change. What is changed without a question is undone."""
    shown = {}
    for name, address in ADDRESSES.items():
        if not address.changes:
            continue
        with transaction.atomic():
            url = address.url(name, world, site)
            response: Any = client.post(url)
            if response.status_code == 200:
                shown[url] = response.content.decode()
            transaction.set_rollback(True)
    return shown
