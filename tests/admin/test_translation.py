"""Everything that the pages say, they say in Simplified Chinese too."""

import gettext
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import translation

import django_locqueue
from django_locqueue.models import Task
from tests.admin.conftest import all_urls

PACKAGE = Path(django_locqueue.__file__).parent
CATALOG = PACKAGE / "locale/zh_Hans/LC_MESSAGES"


each_app = pytest.mark.parametrize("package", [PACKAGE, PACKAGE / "accesslog"], ids=["queue", "access log"])


def catalog_of(package: Path) -> Path:
    return package / "locale/zh_Hans/LC_MESSAGES/django.po"


def messages_of(po: Path) -> dict[str, bool]:
    """Return each message of a catalog, with whether it is translated."""
    found: dict[str, bool] = {}
    for entry in po.read_text(encoding="utf-8").split("\n\n")[1:]:
        lines = [line for line in entry.splitlines() if not line.startswith("#")]
        if not lines:
            continue
        parts: dict[str, str] = {}
        keyword = ""
        for line in lines:
            if not line.startswith('"'):
                keyword, _, line = line.partition(" ")
            parts[keyword] = parts.get(keyword, "") + line.strip().strip('"')
        name = f"{parts['msgctxt']}\x04{parts['msgid']}" if "msgctxt" in parts else parts["msgid"]
        found[name] = "fuzzy" not in entry and all(v for k, v in parts.items() if k.startswith("msgstr"))
    return found


@each_app
def test_no_message_is_left_in_english(package: Path) -> None:
    assert [name for name, is_translated in messages_of(catalog_of(package)).items() if not is_translated] == []


@each_app
def test_the_compiled_catalog_is_of_the_same_messages(package: Path) -> None:
    with catalog_of(package).with_suffix(".mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
    names = {name[0] if isinstance(name, tuple) else name for name in compiled} - {""}
    assert len(names) == len(messages_of(catalog_of(package)))


@pytest.mark.skipif(not shutil.which("xgettext"), reason="needs gettext")
@each_app
def test_no_message_is_missing_in_the_catalog(package: Path, tmp_path: Path) -> None:
    copy = tmp_path / package.name
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("accesslog", "__pycache__"))
    command = [sys.executable, "-m", "django", "makemessages", "-l", "zh_Hans", "--no-location", "--no-obsolete"]
    subprocess.run(command, cwd=copy, check=True, capture_output=True)
    assert set(messages_of(catalog_of(copy))) - set(messages_of(catalog_of(package))) == set()


def test_pages_have_no_english_words_of_ours_in_chinese(
    root: Client, one_of_each: dict[str, Task], settings: Any
) -> None:
    ours = [
        name for name in messages_of(CATALOG / "django.po") if len(name) > 12 and name.isascii() and "%" not in name
    ]
    for url in all_urls(one_of_each):
        body = root.get(url, headers={"accept-language": "zh-hans"}).content.decode()
        assert [name for name in ours if name in body] == [], url


def test_the_words_of_the_states_are_chinese() -> None:
    with translation.override("zh-hans"):
        assert str(Task(state="failed").get_state_display()) == "失败"
