"""What is missing in the log of the last day."""

import datetime
from typing import Any

from django.utils import timezone

from django_locqueue.accesslog.losses import lost_since
from django_locqueue.admin.numbers import whole

DAY = datetime.timedelta(days=1)


def not_logged() -> dict[str, Any]:
    """Return the context of ``not_logged.html``."""
    lost = lost_since(timezone.now() - DAY)
    return {
        "dropped": lost.dropped,
        "dropped_text": whole(lost.dropped),
        "failed": lost.failed,
        "failed_text": whole(lost.failed),
    }
