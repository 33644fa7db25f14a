"""A service that answers in JSON, described by what is sent and where in the answer the place is."""

import datetime
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import quote, urlencode, urlsplit
from zoneinfo import ZoneInfo

from django_locqueue.accesslog.conf import geo
from django_locqueue.accesslog.geo.errors import GeoError, Refusal, Transient, error_of, retry_after
from django_locqueue.accesslog.geo.http_client import HttpAnswer, HttpClient
from django_locqueue.accesslog.geo.place import FIELDS, make_place
from django_locqueue.accesslog.geo.provider import Answers, Provider
from django_locqueue.accesslog.geo.reserved import name_of
from django_locqueue.accesslog.geo.result import GeoResult, IPAddress
from django_locqueue.accesslog.geo.values import dig, printable

Field = str | Callable[[Any], Any]  # a path in the answer, or a function of the answer

_name = re.compile(r"[A-Za-z0-9.-]{1,32}")


def is_line(value: Any) -> bool:
    """Whether it can be part of a request: anything else would let it say more than one thing."""
    return isinstance(value, str) and value.isascii() and value.isprintable()


# What the values of each option must be.
_dicts: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "params": ("texts", lambda value: isinstance(value, str)),
    "headers": ("texts in ASCII, without line ends", is_line),
    "fields": ("paths or functions", lambda value: isinstance(value, str) or callable(value)),
    "constants": ("texts", lambda value: isinstance(value, str)),
    "ok": ("what is expected", lambda value: True),
    "refusals": ("dicts", lambda value: isinstance(value, Mapping)),
    "statuses": ("texts", lambda value: isinstance(value, str)),
}


class HttpProvider(Provider):
    """The provider ``http``, and what the named services are made of.

    What follows is the description. Each can be given as an option; a subclass has them as attributes.

    ``url``, ``params`` (of the query), ``headers``: texts in which ``{ip}`` and ``{key}`` are filled in.
    ``fields``: for ``country_code``, ``country``, ``province``, ``city``, ``district``, ``isp``, ``adcode``,
    ``latitude`` and ``longitude``, where the answer has them, as ``content.address_detail.city``.
    ``constants``: the same for what never changes, as the country of a service that knows one.
    ``ok``: what must stand where in an answer that is one. ``refusals``: what other answers mean: for a place in the
    answer, a :class:`~.refusal.Refusal` by pattern (``{"infocode": {"10003": "day", "1002?": "second"}}``).
    ``statuses``: the same for HTTP statuses. What is described by neither is a fault, and asked again.
    ``time_zone``: where its day ends.
    """

    name = "http"
    offline = False
    url = ""
    params: Mapping[str, str] = {}
    headers: Mapping[str, str] = {}
    fields: Mapping[str, Field] = {}
    constants: Mapping[str, str] = {}
    ok: Mapping[str, Any] = {}
    refusals: Mapping[str, Mapping[str, str]] = {}
    statuses: Mapping[str, str] = {"401": "denied", "403": "denied", "429": "minute"}
    time_zone = "UTC"

    OPTIONS = (
        *("name", "url", "params", "headers", "fields", "constants", "ok", "refusals", "statuses", "time_zone"),
        *("interval", "families", "countries"),
    )
    method = "GET"
    max_bytes = 65_536
    needs_key: bool | None = None  # None: if {key} stands anywhere

    def __init__(self, key: str = "", secret: str = "", **options: Any) -> None:
        """Raises :class:`GeoError` if an option is unknown or cannot be used, or the key is missing.

        ``secret``: what requests with this key are signed with, if the service asks for that.
        """
        for option, value in options.items():
            if option not in self.OPTIONS:
                raise GeoError(
                    f"{self.name}: there is no option {option!r}; there are key, secret, {', '.join(self.OPTIONS)}."
                )
            setattr(self, option, value)
        self._key, self._secret = key, secret
        self._validate()
        if "interval" not in options:
            self.interval = max(self.interval, geo("MIN_INTERVAL"))
        self._client = HttpClient(self.name, geo("CONNECT_TIMEOUT"), geo("READ_TIMEOUT"), self.max_bytes)

    def lookup_many(self, addresses: Sequence[IPAddress]) -> Answers:
        if len(addresses) > self.batch_size:
            raise ValueError(f"{self.name} takes {self.batch_size} addresses in one call, got {len(addresses)}.")
        # What is not public is nowhere, and would tell how the site's own network is laid out.
        places: dict[IPAddress, GeoResult | None] = {
            address: None for address in addresses if not self.serves(address) or name_of(address) is not None
        }
        asked = [address for address in addresses if address not in places]
        if not asked:
            return Answers(places)
        answer = self._client.send(self.method, self._url(asked), self._headers(), self.body(asked))
        if self._refusal(answer) is Refusal.UNKNOWN:
            return Answers(places | dict.fromkeys(asked))
        for address, said in self.items(self._decoded(answer.body), asked):
            try:
                places[address] = self._place(said, answer)
            except Transient:
                if self.batch_size == 1:
                    raise
        return Answers(places, self.pause(answer))

    # What a service does in its own way, above all one that takes many addresses at once

    def body(self, addresses: Sequence[IPAddress]) -> bytes | None:
        """Return the body of the request; None for none."""
        return None

    def items(self, said: Any, addresses: Sequence[IPAddress]) -> Iterator[tuple[IPAddress, Any]]:
        """Yield each address with what the decoded answer says of it. One that is not mentioned was not answered."""
        yield addresses[0], said

    def signed(self, params: Mapping[str, str], secret: str) -> Mapping[str, str]:
        """Return the parameters of the query with the signature that a key with a secret needs."""
        raise GeoError(f"{self.name}: its keys have no secret.")

    def wait(self, answer: HttpAnswer) -> float | None:
        """Return the seconds that a refusal asks for; None if it names none."""
        return retry_after(answer.headers, datetime.datetime.now(datetime.UTC))

    def pause(self, answer: HttpAnswer) -> float:
        """Return the seconds that the service wants to be left alone after an answer that went well."""
        return 0.0

    # The request

    def _url(self, addresses: Sequence[IPAddress]) -> str:
        filled = {name: self._filled(value, addresses) for name, value in self.params.items()}
        given: Mapping[str, str] = {name: value for name, value in filled.items() if value}
        query = urlencode(self.signed(given, self._secret) if self._secret else given)
        url = self._filled(self.url, addresses, quoted=True)
        return f"{url}{'&' if '?' in url else '?'}{query}" if query else url

    def _headers(self) -> dict[str, str]:
        own = {"User-Agent": "django-locqueue", "Accept": "application/json"}
        return own | {name: value.replace("{key}", self._key) for name, value in self.headers.items()}

    def _filled(self, template: str, addresses: Sequence[IPAddress], *, quoted: bool = False) -> str:
        # An address that was parsed has nothing in it that could lead elsewhere.
        key = quote(self._key, safe="") if quoted else self._key
        return template.replace("{ip}", str(addresses[0])).replace("{key}", key)

    # The answer

    def _refusal(self, answer: HttpAnswer) -> Refusal | None:
        """Return whether the status says that the address is unknown. Raises :class:`GeoError` for other refusals."""
        status = answer.status
        if refusal := matching(self.statuses, str(status)):
            return self._unless_raised(refusal, f"status {status}", answer)
        if 200 <= status < 300:
            return None
        redirect = ", a redirect, and none is followed" if 300 <= status < 400 else ""
        raise Transient(f"{self.name} answered with status {status}{redirect}.", self.wait(answer))

    def _decoded(self, body: bytes) -> Any:
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            problem = type(error).__name__
        raise Transient(f"{self.name} answered {len(body)} bytes that are no JSON ({problem}).")

    def _place(self, said: Any, answer: HttpAnswer) -> GeoResult | None:
        """Return the place. Raises :class:`GeoError` if what is said is a refusal."""
        if not isinstance(said, Mapping):
            raise Transient(f"{self.name} answered a JSON {type(said).__name__}, expected an object.")
        for path, meanings in self.refusals.items():
            if refusal := matching(meanings, printable(dig(said, path), 200)):
                self._unless_raised(refusal, self._shown(said, path), answer)
                return None
        if any(str(dig(said, path)) != str(value) for path, value in self.ok.items()):
            shown = ", ".join(self._shown(said, path) for path in dict.fromkeys((*self.ok, *self.refusals)))
            raise Transient(f"{self.name} answered with {shown}, which is not described.")
        found = {
            name: dig(said, field) if isinstance(field, str) else field(said) for name, field in self.fields.items()
        }
        return make_place(self.name, found, self.constants)

    def _unless_raised(self, refusal: Refusal, what: str, answer: HttpAnswer) -> Refusal:
        """Return that the address is unknown, which concerns nobody else. Raises :class:`GeoError` for the rest."""
        if refusal is Refusal.UNKNOWN:
            return refusal
        raise error_of(refusal, f"{self.name} answered with {what} ({refusal}).", self.wait(answer), self.time_zone)

    def _shown(self, said: Any, path: str) -> str:
        words = printable(dig(said, path), 1000)
        if self._key:
            words = words.replace(self._key, "***")  # some repeat the key that they refuse
        return f"{path} {words[:100]!r}"

    # The description

    def _validate(self) -> None:
        """Raise :class:`GeoError` for what cannot be used. No message shows a value that may hold a key."""
        if not is_line(self.name) or not _name.fullmatch(self.name):
            raise GeoError("The name of a provider must be letters, digits, dots and hyphens, at most 32 of them.")
        for option, (kind, is_right) in _dicts.items():
            given = getattr(self, option)
            if not isinstance(given, Mapping) or not all(map(is_right, given.values())):
                raise self._wrong(f"{option} must be a dict of {kind}")
        if not all(map(is_line, (self._key, self._secret, self.url))):
            raise self._wrong("key, secret and url must be texts in ASCII, without line ends")
        if self._secret:
            self.signed({}, self._secret)
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname or "{" in parts.netloc:
            raise self._wrong("the url must begin with https:// or http:// and a host")
        if isinstance(self.interval, bool) or not isinstance(self.interval, int | float) or not self.interval >= 0:
            raise self._wrong(f"interval must be a number of seconds, got {self.interval!r}")
        if unknown := [name for name in (*self.fields, *self.constants) if name not in FIELDS]:
            raise self._wrong(f"there is no field {unknown[0]!r}; there are {', '.join(FIELDS)}")
        if not self.fields:
            raise self._wrong("fields must say where in the answer the place is")
        for meanings in (self.statuses, *self.refusals.values()):
            if wrong := [meaning for meaning in meanings.values() if meaning not in list(Refusal)]:
                raise self._wrong(f"{wrong[0]!r} is no refusal; there are {', '.join(Refusal)}")
        try:
            ZoneInfo(self.time_zone)
        except (KeyError, OSError, ValueError) as error:
            raise self._wrong(f"there is no time zone {self.time_zone!r}") from error
        wants_key = any("{key}" in words for words in (self.url, *self.params.values(), *self.headers.values()))
        if not self._key and (wants_key if self.needs_key is None else self.needs_key):
            raise self._wrong('it needs a "key", and has none')
        self.families = frozenset(self.families)
        self.countries = None if self.countries is None else frozenset(self.countries)

    def _wrong(self, what: str) -> GeoError:
        return GeoError(f"{self.name}: {what}.")


def matching(meanings: Mapping[str, str], code: str) -> Refusal | None:
    """Return what the first pattern that fits the code means."""
    return next((Refusal(meaning) for pattern, meaning in meanings.items() if fnmatchcase(code, pattern)), None)
