"""Everything that the access log says, it says in Simplified Chinese too."""

import gettext
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from django_locqueue import accesslog
from tests.accesslog.pages.rows import ANALYTICS, LIST, count_all, entry, html_of
from tests.admin.test_translation import messages_of

PACKAGE = Path(accesslog.__file__).parent
CATALOG = PACKAGE / "locale/zh_Hans/LC_MESSAGES"


def test_no_message_is_left_in_english() -> None:
    assert [name for name, is_translated in messages_of(CATALOG / "django.po").items() if not is_translated] == []


def test_the_compiled_catalog_is_of_the_same_messages() -> None:
    with (CATALOG / "django.mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
    names = {name[0] if isinstance(name, tuple) else name for name in compiled} - {""}
    assert len(names) == len(messages_of(CATALOG / "django.po"))


@pytest.mark.skipif(not shutil.which("xgettext"), reason="needs gettext")
def test_no_message_is_missing_in_the_catalog(tmp_path: Path) -> None:
    copy = tmp_path / "accesslog"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "django", "makemessages", "-l", "zh_Hans", "--no-location", "--no-obsolete"]
    subprocess.run(command, cwd=copy, check=True, capture_output=True)
    missing = set(messages_of(copy / "locale/zh_Hans/LC_MESSAGES/django.po")) - set(messages_of(CATALOG / "django.po"))
    assert missing == set()


@pytest.mark.django_db
def test_pages_have_no_english_words_of_ours_in_chinese(admin_client: Client, place: Any) -> None:
    row = entry()
    count_all()
    ours = [
        name for name in messages_of(CATALOG / "django.po") if len(name) > 12 and name.isascii() and "%" not in name
    ]
    for url in (LIST, ANALYTICS, f"{ANALYTICS}?period=30d", f"{LIST}{row.pk}/change/", f"{LIST}address/{row.ip}/"):
        body = html_of(admin_client, url, **{"accept-language": "zh-hans"})
        assert [name for name in ours if name in body] == [], url
