"""The README's settings can be copied, and are the defaults where it says so."""

import re
from pathlib import Path

import pytest
from django.core import checks
from django.db.backends.sqlite3.base import DatabaseWrapper

from django_locqueue import backend, conf

README = (Path(__file__).parents[2] / "README.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def block(first_words):
    """Return the names that the block which begins with these words assigns."""
    [text] = [text for text in BLOCKS if text.startswith(first_words)]
    names = {}
    exec(compile(text, "README.md", "exec"), names)
    return names


@pytest.mark.parametrize("first_words", ['TASKS = {"default": {\n', "LOCQUEUE = {\n"])
def test_a_block_of_settings_can_be_copied(settings, first_words):
    for name, value in block(first_words).items():
        if name.isupper():
            setattr(settings, name, value)
    found = [message for message in checks.run_checks(databases=[]) if str(message.id).startswith("locqueue")]
    assert found == []


def test_the_options_that_are_shown_are_the_defaults():
    assert block('TASKS = {"default": {\n')["TASKS"]["default"]["OPTIONS"] == backend.OPTIONS


def test_the_settings_that_are_shown_are_the_defaults():
    shown = block('TASKS = {"default": {\n')["LOCQUEUE"]
    assert shown == {"WORKER": conf.worker.defaults, "MONITORING": conf.monitoring.defaults}


def test_the_block_for_sqlite_has_options_that_django_knows():
    [text] = [text for text in BLOCKS if "transaction_mode" in text]
    names = {"BASE_DIR": Path()}
    exec(compile(text, "README.md", "exec"), names)
    connection = DatabaseWrapper(names["DATABASES"]["default"], alias="readme")
    assert connection.get_connection_params()["timeout"] == 20
    assert connection.transaction_mode == "IMMEDIATE"
