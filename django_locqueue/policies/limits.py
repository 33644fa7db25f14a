"""What a definition says of limits, and the key and terms that each of its calls gets."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from django_locqueue.policies.chunk import WAIT_SECONDS
from django_locqueue.policies.key_template import KeyTemplate, fitted
from django_locqueue.policies.numbers import is_whole
from django_locqueue.policies.ratelimit import Rate

# What the limit keys begin with, so that a rate and a number of running tasks of one name are two limits.
CONCURRENCY = "c:"
RATE = "r:"
CHUNK = "k:"  # of a chunk under no other limit, which waits in this way for others

MOST_CONCURRENCY = 32_767


class Limits:
    """``rate_limit``, ``rate_key``, ``concurrency``, ``concurrency_key`` and ``chunk`` of a definition, checked.

    Keys are templates over the arguments; without one, the limit is the definition's own, by its path. Raises
    ValueError with the reason for what cannot be meant.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        path: str,
        takes_context: bool,
        rate_limit: Any,
        rate_key: Any,
        concurrency: Any,
        concurrency_key: Any,
        chunk: Any,
        chunk_wait: Any,
    ) -> None:
        if rate_limit is None and rate_key is not None:
            raise ValueError(f'rate_key has a meaning only with rate_limit="10/s", got {rate_key!r} alone.')
        if concurrency is None and concurrency_key is not None:
            raise ValueError(f"concurrency_key has a meaning only with concurrency=1, got {concurrency_key!r} alone.")
        self.rate = self.concurrency = None
        if rate_limit is not None:
            self.rate = _rate(rate_limit)
        if concurrency is not None:
            if not is_whole(concurrency, 1, MOST_CONCURRENCY):
                raise ValueError(
                    f"concurrency must be a whole number from 1 to {MOST_CONCURRENCY:,}, got {concurrency!r}."
                )
            self.concurrency = concurrency
        if chunk is not None and concurrency not in (None, 1):
            raise ValueError(f"With chunk, concurrency can only be 1: its calls run as one; got {concurrency!r}.")
        self.chunk = chunk
        self.chunk_wait = WAIT_SECONDS if chunk_wait is None else chunk_wait
        keys = {"rate_key": rate_key, "concurrency_key": concurrency_key}
        self._path = path
        self._templates = {
            option: KeyTemplate(text, function if chunk is None else None, takes_context=takes_context, option=option)
            for option, text in keys.items()
            if text is not None
        }

    def of_call(self, args: Sequence[Any], kwargs: Mapping[str, Any], length: int) -> tuple[str, dict[str, Any]]:
        """Return the limit key of a call, in at most ``length`` characters, and its part of the terms.

        Raises TypeError if a key needs arguments that do not fit the function.
        """
        terms: dict[str, Any] = {}
        limit_key = ""
        if self.rate is not None:
            key = fitted(self._key("rate_key", args, kwargs), length - len(RATE))
            terms.update(rate_key=key, rate_limit=self.rate.limit, rate_seconds=self.rate.seconds)
            limit_key = f"{RATE}{key}"
        if self.concurrency is not None:
            terms["concurrency"] = self.concurrency
            limit_key = f"{CONCURRENCY}{fitted(self._key('concurrency_key', args, kwargs), length - len(CONCURRENCY))}"
        if self.chunk is not None:
            terms.update(chunk=self.chunk, chunk_wait=self.chunk_wait)
            limit_key = limit_key or f"{CHUNK}{fitted(self._path, length - len(CHUNK))}"
        return limit_key, terms

    def _key(self, option: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
        template = self._templates.get(option)
        return self._path if template is None else template.render(args, kwargs)


def _rate(text: Any) -> Rate:
    try:
        return Rate.parse(text)
    except ValueError as error:
        raise ValueError(f"rate_limit {error}") from None


_OPTIONS = ("rate_limit", "rate_key", "concurrency", "concurrency_key", "chunk", "chunk_wait")
_known = lru_cache(maxsize=1000, typed=True)(Limits)


def limits_of(definition: Any) -> Limits | None:
    """Return the limits of a definition, None if it has none. Raises ValueError with the reason for wrong ones."""
    options = [getattr(definition, name) for name in _OPTIONS]
    if all(value is None for value in options):
        return None
    given = definition.func, definition.module_path, definition.takes_context, *options
    try:
        return _known(*given)
    except TypeError:  # a list, say, cannot be looked up; it is refused with its reason
        return Limits(*given)
