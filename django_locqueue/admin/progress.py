"""How far a task is, as it says."""

import math
from typing import Any

from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.translation import gettext as _

from django_locqueue.models import Task
from django_locqueue.policies import legible, masking


def progress_bar(task: Task) -> Any:
    """Return a bar and the task's own words; empty if it has said nothing."""
    message = legible.line(masking.mask_text(task.progress_message))
    fraction = task.progress
    if fraction is None or not math.isfinite(fraction):
        return message
    percent = _("%(percent)s %%") % {"percent": number_format(int(min(max(fraction, 0), 1) * 100), 0)}
    return format_html(
        '<progress class="lq-progress" value="{}" max="1">{}</progress> {} {}',
        f"{fraction:.4f}",
        percent,
        percent,
        format_html('<span class="lq-quiet">{}</span>', message) if message else "",
    )
