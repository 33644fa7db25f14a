"""Keys that are made of a call's arguments: ``order-{order_id}``."""

import hashlib
import inspect
import string
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

_PARSER = string.Formatter()
_HASH = 16  # hexadecimal digits of what is cut off: 64 bits


class KeyTemplate:
    """A text with names of parameters in braces, checked against a function when it is made.

    Raises ValueError for a name that is no parameter of ``function`` (or is its context), and for braces that do not
    match. Only plain names are taken: no positions, no attributes, no format specifications.

    ``function`` None: that of a chunk, which does not say what one call takes. A name is then that of an argument that
    a call passes by name, and ``{0}`` its first other one.
    """

    def __init__(
        self, text: str, function: Callable[..., Any] | None, *, takes_context: bool = False, option: str = "key"
    ) -> None:
        if not isinstance(text, str) or not text:
            raise ValueError(f"{option} must be a text such as 'order-{{order_id}}', got {text!r}.")
        try:
            parts = list(_PARSER.parse(text))
        except ValueError as error:
            raise ValueError(f"{option} {text!r}: {error}. Write a brace that is meant as such twice.") from None
        self.text = text
        self.names = [name for _, name, _, _ in parts if name is not None]
        self._option = option
        self._signature = None if function is None else signature_of(function, takes_context)
        for _, name, spec, conversion in parts:
            if name is None:
                continue
            if self._signature is None or function is None:
                if spec or conversion or not (name.isidentifier() or name.isdecimal()):
                    raise ValueError(f"{option} {text!r} names {name!r}; it may name {{order_id}}, say, or {{0}}.")
            elif spec or conversion or name not in self._signature.parameters:
                raise ValueError(
                    f"{option} {text!r} names {name!r}, which is no argument of {function.__qualname__}(). "
                    f"It has: {', '.join(self._signature.parameters) or 'none'}."
                )

    def render(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
        """Return the key of a call. Raises TypeError if the arguments do not fit the function."""
        if not self.names:
            return _PARSER.format(self.text)
        if self._signature is None:
            try:
                return _PARSER.vformat(self.text, args, kwargs)
            except LookupError:
                raise TypeError(
                    f"{self._option} {self.text!r} names an argument that this call does not pass in that way."
                ) from None
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return _PARSER.vformat(self.text, (), bound.arguments)


@lru_cache(maxsize=1024)
def signature_of(function: Callable[..., Any], takes_context: bool) -> inspect.Signature:
    """Return what a call names: the signature without the context."""
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    return signature.replace(parameters=parameters[1:] if takes_context else parameters)


def fitted(key: str, length: int) -> str:
    """Return ``key`` in at most ``length`` characters, storable everywhere.

    The end of a longer one, and of one with characters that not every database keeps, is a digest of all of it.
    """
    kept = key.replace("\x00", "").encode("utf-8", "ignore").decode("utf-8")
    if len(key) <= length and kept == key:
        return key
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
    return f"{kept[: length - _HASH - 1]}#{digest}"
