"""Signs what is asked, for keys that have a secret beside them: the service knows it, and it is never sent."""

import hashlib
from collections.abc import Mapping


def digest(words: str) -> str:
    """Return the MD5 sum in hexadecimal digits, which is what all three services ask for."""
    return hashlib.md5(words.encode(), usedforsecurity=False).hexdigest()


def sorted_query(params: Mapping[str, str]) -> str:
    """Return the parameters by name, not encoded in any way."""
    return "&".join(f"{name}={value}" for name, value in sorted(params.items()))
