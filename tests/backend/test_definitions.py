"""Definitions are known by their path as soon as they are made."""

import logging
import sys

import pytest

from django_locqueue import registry
from tests import tasks


def test_a_definition_is_known_by_its_path():
    assert registry.definitions()["tests.tasks.add"] is tasks.add


def test_one_by_django_s_own_decorator_is_known_too():
    assert registry.definitions()["tests.tasks.plain"] is tasks.plain


def test_a_copy_with_other_options_is_not_another():
    tasks.add.using(priority=5)
    assert registry.definitions()["tests.tasks.add"] is tasks.add


@pytest.fixture
def undiscovered():
    """Let the modules be looked for anew."""
    registry.autodiscover.cache_clear()
    yield
    registry.autodiscover.cache_clear()


def test_the_tasks_of_installed_apps_are_found(undiscovered):
    registry.autodiscover()
    assert "testproject.shop.tasks.send_receipt" in registry.definitions()


@pytest.mark.parametrize("text", ["import nothing_of_this_name", "raise SystemExit(3)", "def ("])
def test_a_module_that_breaks_keeps_back_no_other(undiscovered, tmp_path, monkeypatch, settings, caplog, text):
    package = tmp_path / "broken_shop"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "tasks.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    settings.INSTALLED_APPS = ["broken_shop", *settings.INSTALLED_APPS]
    try:
        registry.autodiscover()
    finally:
        for name in ("broken_shop", "broken_shop.tasks"):
            sys.modules.pop(name, None)
    assert [record.message for record in caplog.records if record.levelno == logging.ERROR] == [
        "The tasks of broken_shop cannot be imported."
    ]
    assert "testproject.shop.tasks.send_receipt" in registry.definitions()
