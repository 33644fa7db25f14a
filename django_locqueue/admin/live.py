"""Pages that keep themselves up to date: ``?_fragment=1`` answers with the parts of a page that change.

A part is what stands in ``{% lq_region "name" %}``. The browser takes over those that are not as it has them; no script
knows what is in them, and without it a reload does the same.
"""

import re
from collections.abc import Callable
from functools import wraps
from hashlib import blake2b
from typing import Any

from django.contrib.messages import get_messages
from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.utils.cache import get_conditional_response
from django.utils.html import format_html
from django.utils.http import quote_etag

from django_locqueue import conf

PARAMETER = "_fragment"
CHOICES = (0, 5, 10, 30, 60)  # seconds; 0: off

# Tokens are masked anew for each answer, and distances to now go on in the browser: neither is a change of the page.
_FLEETING = re.compile(r'name="csrfmiddlewaretoken" value="[^"]*"|(?<=>)[^<]*(?=</time>)')


def live(view: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a view that returns a TemplateResponse."""

    @wraps(view)
    def answering(request: Any, *args: Any, **kwargs: Any) -> Any:
        if request.method not in ("GET", "HEAD") or PARAMETER not in request.GET:
            return view(request, *args, **kwargs)
        # The page itself never sees the parameter: its links must not have it.
        request.GET = request.GET.copy()
        del request.GET[PARAMETER]
        request.META = {**request.META, "QUERY_STRING": request.GET.urlencode()}
        request.locqueue_regions = []
        response = view(request, *args, **kwargs)
        if isinstance(response, TemplateResponse):
            response.add_post_render_callback(lambda page: _fragment(request, page))
        return response

    return answering


def _fragment(request: Any, page: TemplateResponse) -> HttpResponse | None:
    page.content = "\n".join(html for _version, html in request.locqueue_regions)
    etag = quote_etag("-".join(version for version, _html in request.locqueue_regions))
    page["ETag"] = etag
    # Nobody has read what it said to the person: that is for the next page.
    get_messages(request).used = False
    answer: HttpResponse | None = get_conditional_response(request, etag=etag, response=page)
    return answer


def region(request: Any, name: str, content: str) -> Any:
    """Return a part of a page as HTML, and keep it for the fragment if that is what is asked for.

    ``content``: rendered by a template, which has escaped it.
    """
    version = blake2b(_FLEETING.sub("", content).encode("utf-8", "replace"), digest_size=8).hexdigest()
    html = format_html('<div data-lq-region="{}" data-lq-version="{}">{}</div>', name, version, content)
    regions = getattr(request, "locqueue_regions", None)
    if regions is not None:
        regions.append((version, html))
    return html


def refresh_choices(default: int) -> list[tuple[int, bool]] | None:
    """Return the seconds that a person may choose from, with the one that holds by itself; None: pages stand still."""
    return [(seconds, seconds == default) for seconds in CHOICES] if conf.admin.REFRESH else None
