"""Which values are secret, by the names that they go by."""

import re
from functools import lru_cache

# Anywhere in the name of a query parameter. Better one too many than one too few; only what many sites have is let
# through: ``keyword``, ``author``, ``design``.
_parameter = re.compile(
    r"pass|pwd|secret|token|key(?!word)|(?<!de)sig|auth(?!or(?!i))|code|session|otp|email|phone|mobile|id[_-]?card|jwt"
    r"|密码|手机|邮箱|身份证",
    re.IGNORECASE,
)
# Of a part of the path. Here ``product_code`` and ``key_figures`` are names of things, and what a page is about: the
# short ones count as whole words only, and at the end.
_path_part = re.compile(
    r"uidb64|token|secret|signature|passw|pwd|session|jwt|id[_-]?card|密码|手机|邮箱|身份证"
    r"|(?:^|_)(?:auth|otp)(?:_|$)|(?:^|_)(?:key|sig|sign|email|phone|mobile)$"
    r"|^code$|(?:invite|invitation|verification|activation|confirmation|reset|login|sms)_?code$",
    re.IGNORECASE,
)


def is_secret_parameter(name: str) -> bool:
    """Whether a query parameter of that name is never kept."""
    return _parameter.search(name) is not None


@lru_cache(1024)
def is_secret_part(name: str) -> bool:
    """Whether a part of the path that the URL pattern calls so is masked. The names stand in the project's code."""
    return _path_part.search(name) is not None
