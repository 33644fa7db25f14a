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

# Texts may be long and chosen by a stranger, so each pattern reads a text once: `*+` gives nothing back, no search
# begins anew within a word, and the last alternative takes a whole word that turned out to be harmless.
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_WEB_TOKEN = re.compile(r"(?P<secret>eyJ[\w-]{8,}+\.[\w-]*(?:\.[\w-]*)?)|eyJ[\w-]*+")  # JSON's, also one that was cut
# Of a text that was cut inside the address the closing @ is missing, but not the mark of the cut.
_URL_PASSWORD = re.compile(r"(?P<before>(?<=[a-z0-9+.-])://[^\s/:@]*:)[^\s/@]+(?P<after>@|…$)", re.IGNORECASE)
_NAME = r"(?:password|passwd|secret|token|api_?key|authorization)[\w-]*+"
_ASSIGNMENT = re.compile(
    rf"""(?P<before>{_NAME}["']?\s*+[=:]\s*+)"""
    r"""(?:"[^"\n]*"|'[^'\n]*'|(?:bearer|basic)\s+[^\s,;&)\]}]+|[^\s,;&)\]}"']+)"""
    rf"|{_NAME}",
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
    text = _PRIVATE_KEY.sub(MASK, text)
    text = _WEB_TOKEN.sub(lambda match: MASK if match["secret"] else match[0], text)
    text = _URL_PASSWORD.sub(lambda match: match["before"] + MASK + match["after"], text)
    return _ASSIGNMENT.sub(lambda match: match["before"] + MASK if match["before"] else match[0], text)


def is_secret_key(key: str) -> bool:
    """Whether the value under ``key`` is not for everybody who may look at tasks."""
    words = _WORD_BREAK.sub("_", key).lower()
    return bool(_SECRET_KEY.search(words) or _SECRET_WORD.search(words))
