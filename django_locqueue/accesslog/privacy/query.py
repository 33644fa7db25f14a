"""The query parameters that may be kept."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode

from django.utils.encoding import uri_to_iri

from django_locqueue.accesslog.privacy.secret_names import is_secret_parameter

MAX_QUERY = 4096  # characters that are looked at
MAX_FIELDS = 200


@dataclass(frozen=True, slots=True)
class AllowedParameters:
    """``names``: as they are; ``beginnings``: of ``utm_*``. Empty: no query is kept at all."""

    names: frozenset[str] = frozenset()
    beginnings: tuple[str, ...] = ()

    @classmethod
    def parse(cls, entries: Iterable[Any]) -> "AllowedParameters":
        """Build from the setting. What is wrong is left out, thus not kept; a system check reports it."""
        texts = [entry for entry in entries if isinstance(entry, str) and entry]
        return cls(
            frozenset(entry for entry in texts if not entry.endswith("*")),
            tuple(entry.removesuffix("*") for entry in texts if entry.endswith("*")),
        )

    def __bool__(self) -> bool:
        return bool(self.names or self.beginnings)

    def allows(self, name: str) -> bool:
        """Whether the parameter is kept. One whose name sounds secret never is."""
        return (name in self.names or name.startswith(self.beginnings)) and not is_secret_parameter(name)

    def kept(self, query: str) -> str:
        """Return the query string with what is allowed and nothing else, other than ASCII written out."""
        if len(query) > MAX_QUERY:  # the last parameter may be cut
            query = query[:MAX_QUERY].rpartition("&")[0]
        with suppress(UnicodeError):  # WSGI gives the bytes that a client did not escape as if they were Latin-1
            query = query.encode("latin-1").decode()
        try:
            pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=MAX_FIELDS)
        except ValueError:  # more fields than a visitor's browser sends
            return ""
        return uri_to_iri(urlencode([pair for pair in pairs if self.allows(pair[0])], errors="replace"))
