"""Arguments, results, metadata and logs as they are: hidden values for those who may see them, large ones as files."""

import json
from collections.abc import Callable
from typing import Any

from django.db.models.functions import Left
from django.http import Http404, HttpResponse, HttpResponseNotAllowed

from django_locqueue.admin.noting import note
from django_locqueue.admin.page_base import only_shows
from django_locqueue.models import Task
from django_locqueue.policies import excerpt, masking

PERMISSION = "locqueue.view_payload"
COLUMNS = {"arguments": "args_kwargs", "result": "return_value", "metadata": "metadata", "log": "log"}
ALL_OF_IT = 2**31 - 1


def may_see(request: Any) -> bool:
    return bool(request.user.has_perm(PERMISSION))


class BarePayloads:
    """To be mixed into the model admin that has the page of a task."""

    refused: Callable[[Any, str], Any]
    page_of: Callable[..., Any]

    @only_shows
    def show_view(self, request: Any, task_id: int) -> Any:
        """Show the page with nothing masked in its payloads. By POST: that somebody looked is written down."""
        if not may_see(request):
            return self.refused(request, "view_payload")
        note(request, "view_payload", target=str(task_id))
        return self.page_of(request, task_id, is_bare=True)

    @only_shows
    def download_view(self, request: Any, task_id: int, what: str) -> Any:
        """Send a payload as a file: masked as on the page, or by POST as it is."""
        if request.method not in ("GET", "HEAD", "POST"):
            return HttpResponseNotAllowed(["GET", "HEAD", "POST"])
        is_bare = request.method == "POST"
        if is_bare and not may_see(request):
            return self.refused(request, "view_payload")
        rows = Task.objects.filter(pk=task_id).annotate(whole=Left(COLUMNS[what], ALL_OF_IT))
        text = rows.values_list("whole", flat=True).first()
        if text is None:
            raise Http404
        if is_bare:
            note(request, "view_payload", target=str(task_id))
        else:
            text = masked(text)
        return HttpResponse(
            text,
            content_type="application/json",
            headers={
                "Content-Disposition": f'attachment; filename="task-{task_id}-{what}.json"',
                "X-Content-Type-Options": "nosniff",
                "Cache-Control": "no-store",
            },
        )


def masked(text: str) -> str:
    """Return a stored JSON text with its secrets hidden; what is no JSON, as other text."""
    try:
        return json.dumps(masking.mask(excerpt.read(text, cut=False)))
    except (excerpt.Unreadable, RecursionError):
        return masking.mask_text(text)
