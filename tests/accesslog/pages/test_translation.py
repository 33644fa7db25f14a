"""Everything that the access log says, it says in Simplified Chinese too."""

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from django_locqueue import accesslog
from tests.accesslog.pages.rows import ANALYTICS, LIST, count_all, entry, html_of
from tests.admin.test_translation import messages_of

PACKAGE = Path(accesslog.__file__).parent
CATALOG = PACKAGE / "locale/zh_Hans/LC_MESSAGES"


@pytest.mark.django_db
def test_pages_have_no_english_words_of_ours_in_chinese(admin_client: Client, place: Any) -> None:
    row = entry()
    count_all()
    ours = [
        name for name in messages_of(CATALOG / "django.po") if len(name) > 12 and name.isascii() and "%" not in name
    ]
    for url in (LIST, ANALYTICS, f"{ANALYTICS}?period=90d", f"{LIST}{row.pk}/change/", f"{LIST}address/{row.ip}/"):
        body = html_of(admin_client, url, **{"accept-language": "zh-hans"})
        assert [name for name in ours if name in body] == [], url
