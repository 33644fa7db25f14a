"""What people change is written down."""

from collections.abc import Mapping
from typing import Any

from django_locqueue.models import Activity
from django_locqueue.models.activity import REASON_LENGTH
from django_locqueue.policies.outcome import shortened
from django_locqueue.store.base import StoreBase


class Recording(StoreBase):
    def record_activity(
        self,
        verb: str,
        *,
        by: str,
        source: str,
        request_id: str = "",
        target: str = "",
        selection: Mapping[str, Any] | None = None,
        matched: int | None = None,
        changed: int = 1,
        skipped: int = 0,
        reason: str = "",
    ) -> None:
        """Write that a person did something. Too long texts are cut.

        ``target``: a single object; ``selection``: a filter, or ``{"ids": [...]}``. ``source``: an IP address, or
        ``"command"``.
        """
        texts = {"verb": verb, "user_name": by, "source": source, "request_id": request_id, "target": target}
        lengths = {field.name: getattr(field, "max_length", None) or 0 for field in Activity._meta.get_fields()}
        Activity.objects.using(self.alias).create(
            **{name: shortened(text, lengths[name]) for name, text in texts.items()},
            reason=shortened(reason, REASON_LENGTH),
            selection=None if selection is None else dict(selection),
            matched=matched,
            changed=changed,
            skipped=skipped,
            time=self.time(None),
        )
