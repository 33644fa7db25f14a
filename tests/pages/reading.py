"""Reads a page as a browser would, and says what stands in it that must not."""

import re
from html.parser import HTMLParser

UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
RUNS = {"href", "src", "action", "formaction", "xlink:href"}


class Page(HTMLParser):
    """``faults``: inline code and styles, handlers, addresses that run, characters that nobody sees.

    ``links``: the addresses that it leads to. ``buttons``: those to which a button sends something, but the one that
    logs out.
    """

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.faults: list[str] = []
        self.links: list[str] = []
        self.buttons: list[str] = []
        self.words: list[str] = []
        self._form: dict[str, str] = {}
        self._inside: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "style" or "style" in given:
            self.faults.append(f"inline style: <{tag} {given}>")
        if tag == "script" and "src" not in given and given.get("type") != "application/json":
            self.faults.append("inline script")
        for name, value in given.items():
            if name.startswith("on"):
                self.faults.append(f"inline handler: <{tag} {name}={value!r}>")
            if re.match(r"\s*(javascript|data|vbscript):", value, re.IGNORECASE) and name in RUNS:
                self.faults.append(f"an address that runs: <{tag} {name}={value!r}>")
            if not (tag in ("input", "option") and name == "value"):  # to be edited or sent as it is
                self._look_at(value)
        if tag in ("script", "style"):
            self._inside.append(tag)
        if tag == "a":
            self.links.append(given.get("href", ""))
        if tag == "form":
            self._form = given
        is_button = tag in ("button", "input") and given.get("type", "submit" if tag == "button" else "") == "submit"
        address = given.get("formaction", self._form.get("action", ""))
        if is_button and self._form.get("method") == "post" and not address.endswith("/logout/"):
            self.buttons.append(address)

    def handle_endtag(self, tag: str) -> None:
        if self._inside and self._inside[-1] == tag:
            self._inside.pop()
        if tag == "form":
            self._form = {}

    def handle_data(self, data: str) -> None:
        if self._inside:
            return
        self._look_at(data)
        if data.strip():
            self.words.append(data.strip())

    def _look_at(self, text: str) -> None:
        if UNSEEN.search(text):
            self.faults.append(f"a character that nobody sees: {text[:80]!a}")
