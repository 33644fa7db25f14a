"""The log of a task as HTML: the lines of each run, under its attempt where there are several."""

from datetime import datetime
from itertools import groupby
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext as _

from django_locqueue.admin.payloads import Payload, draw_payload
from django_locqueue.clock import local
from django_locqueue.policies import excerpt, legible


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
