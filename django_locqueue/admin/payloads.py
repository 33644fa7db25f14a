"""Arguments, results and logs as HTML: masked, legible, and of a size that a browser can bear."""

import json
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import groupby
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from django_locqueue.clock import local
from django_locqueue.policies import excerpt, legible, masking

WHOLE = 65_536  # characters: a longer payload is shown by its beginning
BEGINNING = 4_000
MOST_NODES = 600  # of one payload
MOST_ITEMS = 50  # of one list or object
MOST_TEXT = 2_000  # characters of one string
OPEN_DEPTH = 2  # nested deeper than this, a part is shown when it is asked for
MOST_DEPTH = 20
LINE = 120
MOST_COPIED = 16_000  # characters of JSON: it is on the page a second time, hidden


def arguments_line(text: str, *, cut: bool) -> str:
    """Return a stored call, or its beginning, in one line: ``991, email=••••••``."""
    try:
        call = masking.mask(excerpt.read(text, cut=cut))
    except excerpt.Unreadable:
        call = None
    if not isinstance(call, dict):
        return _shortened(legible.line(masking.mask_text(text)), LINE)
    args, kwargs = call.get("args"), call.get("kwargs")
    parts = [_compact(value) for value in args] if isinstance(args, list) else []
    parts += [f"{key}={_compact(value)}" for key, value in kwargs.items()] if isinstance(kwargs, dict) else []
    line = ", ".join(parts)
    return _shortened(legible.line(f"{line} …" if cut and not line.endswith("…") else line), LINE)


def _compact(value: Any) -> str:
    return value if value == masking.MASK else json.dumps(value, ensure_ascii=False, separators=(",", ": "))


def _shortened(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


@dataclass(frozen=True)
class Payload:
    """What a page knows of a stored JSON text: its size, and its beginning or all of it.

    ``is_bare``: it is shown as it is, to a person who may see it and asked for it.
    """

    start: str | None
    size: int | None
    is_bare: bool = False

    @property
    def is_missing(self) -> bool:
        return self.start is None

    @property
    def is_too_large(self) -> bool:
        return (self.size or 0) > WHOLE

    def value(self) -> Any:
        """Return the masked value. Raises ``excerpt.Unreadable``."""
        return self._value if self.is_bare else masking.mask(self._value)

    def text(self) -> str:
        """Return the beginning as it is stored, for what is no JSON."""
        text = (self.start or "")[:BEGINNING]
        return legible.block(text if self.is_bare else masking.mask_text(text))

    @property
    def as_json(self) -> str:
        """Return all of it, masked as it is shown, to be copied; empty for what is too large or no JSON."""
        if self.is_missing or self.is_too_large:
            return ""
        try:
            # What cannot be seen is spelled as JSON itself may spell it.
            text = legible.block(json.dumps(self.value(), ensure_ascii=False, indent=2))
        except (excerpt.Unreadable, RecursionError):
            return ""
        return text if len(text) <= MOST_COPIED else ""

    @property
    def hides(self) -> bool:
        """Whether something in it is masked."""
        try:
            return not self.is_bare and bool(masking.mask(self._value) != self._value)
        except excerpt.Unreadable:
            return masking.MASK in self.text()

    @cached_property
    def _value(self) -> Any:
        if self.start is None:
            return None
        text = self.start[:BEGINNING] if self.is_too_large else self.start
        return excerpt.read(text, cut=self.is_too_large)


class Tree:
    """Draws one JSON value, within one budget of nodes."""

    def __init__(self) -> None:
        self.nodes = 0

    def draw(self, value: Any, depth: int = 0) -> Any:
        self.nodes += 1
        match value:
            case dict() if value:
                rows = [(self._key(key), item) for key, item in value.items()]
                return self._group(rows, _object_of(len(rows)), depth)
            case list() if value:
                rows = [(f"[{position}]", item) for position, item in enumerate(value)]
                return self._group(rows, _list_of(len(rows)), depth)
            case str():
                text = legible.block(value[:MOST_TEXT])
                left = len(value) - MOST_TEXT
                return format_html("{}{}", text, _more_characters(left) if left > 0 else "")
            case _:
                return json.dumps(value)

    def _group(self, rows: list[tuple[str, Any]], words: str, depth: int) -> Any:
        if depth >= MOST_DEPTH or self.nodes > MOST_NODES:
            return format_html('<span class="lq-quiet">{}</span>', words)
        drawn, left = [], len(rows)
        for name, item in rows[:MOST_ITEMS]:
            if self.nodes > MOST_NODES:
                break
            drawn.append((name, self.draw(item, depth + 1)))
            left -= 1
        body = format_html_join("", "<dt>{}</dt><dd>{}</dd>", drawn)
        rest = format_html('<p class="lq-quiet">{}</p>', _more_items(left)) if left else ""
        if depth == 0:
            return format_html('<dl class="lq-json">{}</dl>{}', body, rest)
        return format_html(
            '<details{}><summary>{}</summary><dl class="lq-json">{}</dl>{}</details>',
            " open" if depth < OPEN_DEPTH else "",
            words,
            body,
            rest,
        )

    @staticmethod
    def _key(key: str) -> str:
        return legible.line(_shortened(key, LINE))


def _list_of(count: int) -> str:
    return ngettext("list of %(count)s", "list of %(count)s", count) % {"count": count}


def _object_of(count: int) -> str:
    return ngettext("object with %(count)s key", "object with %(count)s keys", count) % {"count": count}


def _more_items(count: int) -> str:
    return ngettext("… %(count)s more", "… %(count)s more", count) % {"count": count}


def _more_characters(count: int) -> str:
    return ngettext("… %(count)s more character", "… %(count)s more characters", count) % {"count": count}


def draw_payload(payload: Payload) -> Any:
    """Return the payload as HTML, or the stored text if it is no JSON."""
    if payload.is_missing:
        return "–"
    try:
        value = payload.value()
    except excerpt.Unreadable:
        return format_html('<pre class="lq-block">{}</pre>', payload.text())
    return draw(value)


def draw(value: Any) -> Any:
    drawn = Tree().draw(value)
    return drawn if isinstance(value, dict | list) and value else format_html('<div class="lq-value">{}</div>', drawn)


def draw_call(payload: Payload) -> Any:
    """Return a stored call as HTML: its arguments by position, then by name."""
    try:
        call = payload.value()
    except excerpt.Unreadable:
        return draw_payload(payload)
    if not isinstance(call, dict):
        return draw(call)
    args, kwargs = call.get("args") or [], call.get("kwargs") or {}
    if not isinstance(args, list) or not isinstance(kwargs, dict):
        return draw(call)
    # A position alone would look like a part of the value beside it; no argument's name has a bracket in it.
    named = {f"args[{position}]": value for position, value in enumerate(args)} | kwargs
    return draw(named) if named else format_html('<p class="lq-quiet">{}</p>', _("No arguments."))


def draw_log(payload: Payload) -> Any:
    """Return the log, or the stored text if it is none."""
    try:
        lines = payload.value()
    except excerpt.Unreadable:
        lines = None
    if not isinstance(lines, list) or not all(isinstance(line, dict) for line in lines):
        return draw_payload(payload)
    runs = [list(run) for _claim, run in groupby(lines, key=lambda line: line.get("claim"))]
    drawn = [(_title(run[0]) if len(runs) > 1 else "", "\n".join(map(_text, run))) for run in runs]
    return format_html_join("", '{}<pre class="lq-block">{}</pre>', drawn)


def _title(line: dict[str, Any]) -> Any:
    return format_html("<h3>{}</h3>", _("Attempt %(number)s") % {"number": legible.line(str(line.get("attempt")))})


def _text(line: dict[str, Any]) -> str:
    said = (_time(line.get("time")), *(line.get(key, "") for key in ("level", "logger", "message")))
    return legible.line("  ".join(map(str, said)))


def _time(text: Any) -> str:
    try:
        return local(datetime.fromisoformat(text)).isoformat(sep=" ", timespec="milliseconds")[:23]
    except (TypeError, ValueError, OverflowError):
        return str(text)
