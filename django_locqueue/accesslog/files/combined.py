"""The log format that web servers share: Apache's "combined", which is nginx's default, and "common", its beginning.

    address identity user [time] "request" status bytes "referrer" "agent"

What follows the agent is ignored, but for a number alone, which is how long the answer took: ``0.043`` as nginx's
``$request_time`` in seconds, ``43000`` as Apache's ``%D`` in microseconds. A name and port in front of the address
(Apache's ``vhost_combined``) is the host.
"""

import datetime
import re
from functools import lru_cache
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from django.utils.encoding import repercent_broken_unicode

from django_locqueue.accesslog import hit as limits
from django_locqueue.accesslog.client_ip import parse_hop
from django_locqueue.accesslog.hit import Hit

NOTHING = "-"
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

# Possessive: a line of garbage is given up at once, not after trying where else its quotes might end.
_quoted = r'"([^"\\]*+(?:\\.[^"\\]*+)*+)'
# The last quote may be missing: a log that was cut there still tells who asked for what.
_line = re.compile(
    r"(\S++) (\S++) (.*?) ?\[(\d\d/[A-Z][a-z]{2}/\d{4}):(\d\d):(\d\d):(\d\d) ([+-]\d{4})\] "
    rf'{_quoted}" (\d{{3}}) (\d++|-)(?: {_quoted}" {_quoted}(?:"(.*))?)?$',
    re.ASCII,
)
# Spaces in the middle are a client's mistake that servers log as they are; without a protocol it was HTTP/0.9.
_request = re.compile(r"([A-Za-z][A-Za-z-]{0,15}) (\S.*?)(?: HTTP/[\d.]+)?$")
_escape = re.compile(rb"\\(?:x([0-9A-Fa-f]{2})|(.))")
_control = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"b": b"\b", b"v": b"\v", b"f": b"\f"}
_unprintable = re.compile(r"[^ !#-\[\]-~]")


class BadLine(ValueError):
    """A line that is no logged request; says why."""


def read(line: str) -> Hit:
    """Return the request that a line tells of, cut to its columns; its ``id`` is left empty.

    The query is the whole of it, and the user is left out: servers log whatever name a client claims to have.
    Raises :class:`BadLine`.
    """
    found = _line.match(line)
    if found is None:
        raise BadLine(
            'expected: address - user [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 12 "referrer" "agent"'
        )
    first, second, _user, day, hour, minute, second_, zone, request, status, size, referer, agent, rest = found.groups()
    ip, host = address(first), ""
    if ip is None and first != NOTHING:
        ip, host = address(second), first.rpartition(":")[0] or first
        if ip is None:
            raise BadLine(f"expected an IP address, got {first[:64]!r}")
    method, path, query = asked(request)
    return Hit(
        id="",
        time=moment(day, hour, minute, second_, zone),
        ip=ip,
        user_id=None,
        method=method,
        host=limits.text(host, limits.HOST_LENGTH),
        path=path,
        action="",
        route="",
        status=int(status),
        duration_ms=limits.number(duration_ms(rest or ""), limits.MAX_DURATION_MS),
        bytes=limits.content_length(size),
        user_agent=browser(agent),
        referer=page(referer),
        streaming=False,
        query=query,
    )


@lru_cache(maxsize=16_384)  # most requests are for what others have asked for
def asked(request: str) -> tuple[str, str, str]:
    """Return the method, the path and the whole query. Raises :class:`BadLine`."""
    found = _request.match(request)
    if found is None:
        raise BadLine(f'expected a request like "GET / HTTP/1.1", got {request[:64]!r}')
    path, _, query = origin_form(unescaped(found[2])).partition("?")
    return found[1].upper(), limits.text(decoded(path), limits.PATH_LENGTH), query


@lru_cache(maxsize=16_384)
def browser(agent: str | None) -> str:
    return limits.text(given(agent), limits.USER_AGENT_LENGTH)


@lru_cache(maxsize=16_384)
def page(referer: str | None) -> str:
    return limits.referer(given(referer))


@lru_cache(maxsize=65_536)  # visitors come back
def address(text: str) -> str | None:
    """Return the address in canonical form, or None if it is none."""
    parsed = parse_hop(text)
    return None if parsed is None else str(parsed)


def moment(day: str, hour: str, minute: str, second: str, zone: str) -> float:
    """Return seconds since 1970. Raises :class:`BadLine` for a time that no clock shows."""
    # 60: a leap second, which is the next minute's first.
    if hour > "23" or minute > "59" or second > "60":
        raise BadLine(f"expected a time of day, got {hour}:{minute}:{second}")
    return float(_midnight(day, zone) + int(hour) * 3600 + int(minute) * 60 + int(second))


@lru_cache(maxsize=1024)
def _midnight(day: str, zone: str) -> int:
    try:
        date = datetime.datetime(int(day[7:]), MONTHS.index(day[3:6]) + 1, int(day[:2]), tzinfo=datetime.UTC)
    except ValueError:
        date = None
    # Before 1970 nobody logged, and the last year that Python knows has no room for a zone.
    if date is None or not 1970 < date.year < 9999:
        raise BadLine(f"expected a date like 17/May/2015, got {day}")
    east = (int(zone[1:3]) * 3600 + int(zone[3:]) * 60) * (-1 if zone[0] == "-" else 1)
    return int(date.timestamp()) - east


def origin_form(target: str) -> str:
    """Return the path and query of a request's target; those of a proxy have scheme and host in front."""
    if target.startswith("/"):
        return target
    _, separator, rest = target.partition("://")
    return f"/{rest.partition('/')[2]}" if separator else target


def decoded(path: str) -> str:
    """Return the path as Django gives it to views: without percent signs, but for what is no UTF-8."""
    return repercent_broken_unicode(unquote_to_bytes(path)).decode() if "%" in path else path


def duration_ms(rest: str) -> float:
    """Return how long the answer took, if the rest of the line says that and no more; else 0."""
    number = rest.strip()
    if not number.replace(".", "", 1).isdecimal():
        return 0.0
    return float(number) * 1000 if "." in number else int(number) / 1000


def given(text: str | None) -> str:
    """Return the text of a field; nothing for a dash, which is what servers write for nothing."""
    return "" if text is None or text == NOTHING else unescaped(text)


def unescaped(text: str) -> str:
    r"""Undo ``\"`` and ``\xHH``: servers escape bytes, not characters."""
    if "\\" not in text:
        return text
    return _escape.sub(_unescape, text.encode()).decode(errors="replace")


def _unescape(found: re.Match[bytes]) -> bytes:
    return bytes.fromhex(found[1].decode()) if found[1] else _control.get(found[2], found[2])


def written(row: Any, ip: str | None) -> str:
    """Return a line for a row of the log; ``ip``: as much of its address as may be seen.

    ``read`` reads it back, all but the user, who is written as the primary key.
    """
    target = quote(row.path, safe="/!$&'()*+,;=:@~") + (f"?{row.query}" if row.query else "")
    size = NOTHING if row.bytes is None else row.bytes
    return (
        f"{ip or NOTHING} - {_escaped(str(row.user_id or NOTHING)).replace(' ', '_')} [{_stamp(row.time)}] "
        f'"{_escaped(row.method)} {_escaped(target)} HTTP/1.1" {row.status:03} {size} '
        f'"{_escaped(row.referer) or NOTHING}" "{_escaped(row.user_agent) or NOTHING}"'
    )


def _escaped(text: str) -> str:
    return _unprintable.sub(_escape_character, text)


def _escape_character(found: re.Match[str]) -> str:
    character = found[0]
    return f"\\{character}" if character in '"\\' else "".join(f"\\x{byte:02x}" for byte in character.encode())


def _stamp(time: datetime.datetime) -> str:
    # Not strftime: its months are in the language of the process.
    utc = time.astimezone(datetime.UTC)
    return f"{utc:%d}/{MONTHS[utc.month - 1]}/{utc:%Y:%H:%M:%S} +0000"
