"""What stands under each page of the log: whose location data are shown, and how long requests and counts are kept."""

from typing import Any

from django_locqueue.accesslog.conf import access_log
from django_locqueue.accesslog.geo.chain import current_chain
from django_locqueue.accesslog.geo.errors import GeoError
from django_locqueue.accesslog.geo.provider import Provider


def data_note(*, of_counts: bool = False) -> dict[str, Any]:
    """Return the context of ``data_note.html``: texts with their addresses, and days (None: for ever).

    ``of_counts``: the page shows counts, which are kept longer than requests.
    """
    sources = [source for provider in current_chain().providers for source in _sources(provider)]
    counts_kept = access_log.ROLLUP_RETENTION_DAYS if of_counts else None
    return {"sources": sources, "kept_days": access_log.RETENTION_DAYS, "counts_kept_days": counts_kept}


def _sources(provider: Provider) -> list[dict[str, str]]:
    try:
        days = provider.built()
        date = f" {min(days):%Y-%m}" if days else ""
        return [{"text": f"{each.text}{date}", "url": each.url} for each in provider.attributions()]
    except GeoError:  # out of order, so nothing of it is shown
        return []
