"""Who may change something: nobody in read-only mode, else who has the permission."""

from collections.abc import Iterable
from typing import Any

from django_locqueue import conf


def is_read_only(request: Any) -> bool:
    """Whether ``LOCQUEUE["ADMIN"]["READ_ONLY"]`` holds for this request."""
    setting = conf.admin.READ_ONLY
    return bool(setting(request) if callable(setting) else setting)


def may(request: Any, permissions: str | Iterable[str]) -> bool:
    """Whether the person may change what needs these permissions, ``"locqueue.retry_task"``: ask this, not the user.

    What is only looked at asks the user.
    """
    wanted = [permissions] if isinstance(permissions, str) else list(permissions)
    return not is_read_only(request) and bool(request.user.has_perms(wanted))
