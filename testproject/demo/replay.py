"""Requests from a web server's log in Apache's "combined" format."""

import re
from dataclasses import dataclass
from pathlib import Path

from testproject.demo.client import Client, Visitor
from testproject.demo.traffic import Visit

# address identity user [time] "method target protocol" status bytes "referrer" "agent"; a quote within is escaped.
# The last quote may be missing: a log that was cut there still tells who asked for what.
_line = re.compile(
    r'^(?P<address>[0-9A-Fa-f.:]+) \S+ \S+ \[[^\]]*\] "(?P<method>[A-Z]{1,16}) (?P<target>/[!-~]*)(?: HTTP/[\d.]+)?" '
    r'\d{3} (?:\d+|-)(?: "(?P<referrer>(?:[^"\\]|\\.)*)" "(?P<agent>(?:[^"\\]|\\.)*)"?)?$'
)
_unsendable = re.compile(r"[^\x20-\x7e]")  # a header is one line of text; what else the log has was escaped in it


@dataclass(frozen=True)
class Log:
    visits: list[Visit]
    addresses: int
    bad_lines: int


def read(path: Path) -> Log:
    """Return one visit for each line of the log. Lines that are no request are counted, not sent."""
    visits: list[Visit] = []
    addresses = set()
    bad_lines = 0
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            found = _line.match(line.strip())
            if not found:
                bad_lines += bool(line.strip())
                continue
            addresses.add(found["address"])
            visits.append(_visit(found))
    return Log(visits, len(addresses), bad_lines)


def _visit(found: re.Match[str]) -> Visit:
    visitor = Visitor(found["address"], _header(found["agent"]))
    method, target, referrer = found["method"], found["target"], _header(found["referrer"])

    def visit(client: Client) -> None:
        client.request(visitor, target, method=method, referrer=referrer)

    return visit


def _header(logged: str | None) -> str:
    value = _unsendable.sub("?", logged or "").strip()
    return "" if value == "-" else value
