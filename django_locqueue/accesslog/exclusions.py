"""The rarer reasons for leaving a request out."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from django_locqueue.accesslog import hit as limits
from django_locqueue.accesslog.bots import is_bot
from django_locqueue.accesslog.throttled import ThrottledLogger

logger = ThrottledLogger(logging.getLogger("django_locqueue.accesslog"))


@dataclass(frozen=True, slots=True)
class Exclusions:
    """``only_methods``: None for all. ``views``: URL names. ``filter``: None, or the project's function."""

    only_methods: frozenset[str] | None = None
    views: frozenset[str] = frozenset()
    statuses: frozenset[int] = frozenset()
    bots: bool = False
    filter: Callable[..., Any] | None = None

    def __bool__(self) -> bool:
        return self != NONE

    def cover(self, request: HttpRequest, response: HttpResponseBase | None, status: int) -> bool:
        """Whether the request is left out. ``response``: None if there is none."""
        if self.only_methods is not None and request.method not in self.only_methods:
            return True
        match = request.resolver_match
        if status in self.statuses or (match and match.view_name in self.views):
            return True
        if self.bots and is_bot(limits.exact_text(request.META.get("HTTP_USER_AGENT"))[: limits.USER_AGENT_LENGTH]):
            return True
        if self.filter is None:
            return False
        try:
            return self.filter(request, response) is False
        except Exception:  # the project's code; a line too many is better than one too few
            logger.failure('LOCQUEUE["ACCESS_LOG"]["FILTER"] raised; the request is recorded.')
            return False


NONE = Exclusions()
