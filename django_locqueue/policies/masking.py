"""What a person who looks at a task may not see: values whose key or shape says that they are secret.

A pure function over JSON values and over text. It hides what is shown, not what is stored.
"""

import re
from typing import Any

MASK = "••••••"

# Anywhere in a key, in any spelling: ``userPassword``, ``API-KEY``, ``session_id``.
_SECRET_KEY = re.compile(
    r"password|passwd|passphrase|secret|token|api_?key|authorization|cookie|session|credential|private|credit_?card"
    r"|id_?card|phone|email|身份证|手机号|密码"
)
# Only as a word of the key: as mere letters they are in "discard" and "classname".
_SECRET_WORD = re.compile(r"(?:^|_)(?:pwd|card|cvv|cvc|ssn|auth)(?:_|$)")
_WORD_BREAK = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^\w]+")

_SECRET_SHAPES = re.compile(
    r"eyJ[\w-]{8,}\.[\w-]*(?:\.[\w-]*)?"  # a JSON web token, also one that was cut
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
# Of a text that was cut inside the address the closing @ is missing, but not the mark of the cut.
_URL_PASSWORD = re.compile(r"(?P<before>\b[a-z][a-z0-9+.-]*://[^\s/:@]*:)[^\s/@]+(?P<after>@|…$)", re.IGNORECASE)
_ASSIGNMENT = re.compile(
    r"""(?P<before>\b[\w-]*(?:password|passwd|secret|token|api_?key|authorization)[\w-]*["']?\s*[=:]\s*)"""
    r"""(?:"[^"\n]*"|'[^'\n]*'|(?:bearer|basic)\s+[^\s,;&)\]}]+|[^\s,;&)\]}"']+)""",
    re.IGNORECASE,
)


def mask(value: Any) -> Any:
    """Return a copy of a JSON ``value`` with secrets replaced by :data:`MASK`, at every depth.

    Iterative on purpose: what is stored may be nested as deep as JSON allows, and a page must not die of it.
    """
    holder: list[Any] = [value]
    todo: list[tuple[Any, Any]] = [(holder, 0)]
    while todo:
        container, key = todo.pop()
        item = container[key]
        if isinstance(container, dict) and is_secret_key(key):
            container[key] = MASK
        elif isinstance(item, dict):
            container[key] = dict(item)
            todo.extend((container[key], inner) for inner in item)
        elif isinstance(item, list):
            container[key] = list(item)
            todo.extend((container[key], position) for position in range(len(item)))
        elif isinstance(item, str):
            container[key] = mask_text(item)
    return holder[0]


def mask_text(text: str) -> str:
    """Return free text (an exception's message, a traceback) with what looks like a secret replaced."""
    text = _mask_shapes(text)
    return _ASSIGNMENT.sub(lambda match: match["before"] + MASK, text)


def is_secret_key(key: str) -> bool:
    """Whether the value under ``key`` is not for everybody who may look at tasks."""
    words = _WORD_BREAK.sub("_", key).lower()
    return bool(_SECRET_KEY.search(words) or _SECRET_WORD.search(words))


def _mask_shapes(text: str) -> str:
    text = _SECRET_SHAPES.sub(MASK, text)
    return _URL_PASSWORD.sub(lambda match: match["before"] + MASK + match["after"], text)
