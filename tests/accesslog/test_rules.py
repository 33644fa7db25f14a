"""The settings are read once, also those that cannot be."""

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

from django_locqueue.accesslog.checks import check_access_log
from django_locqueue.accesslog.conf import until_settings_change

MODULE = """
with open(__file__ + ".imports", "a") as log:
    log.write("x")
{last}
"""


@pytest.fixture
def broken(tmp_path, monkeypatch):
    """Return a function that makes an ACTION module which ends with the given line, and one that counts its imports."""
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "locqueue_broken_action.py"

    def make(last):
        file.write_text(MODULE.format(last=last))
        return f"{file.stem}.action"

    make.imports = lambda: len((tmp_path / (file.name + ".imports")).read_text())
    return make


@pytest.mark.parametrize(
    "last", ["raise RuntimeError('at import')", "import nowhere_to_be_found", "1/0", "raise SystemExit"]
)
def test_an_action_module_that_fails_is_imported_once_and_logged_once(hits, configure, broken, caplog, last):
    configure(ACTION=broken(last))
    for _ in range(3):
        assert Client().get("/page/").status_code == 200
    assert [hit.action for hit in hits] == ["page"] * 3
    assert broken.imports() == 1
    assert [record.exc_info is not None for record in caplog.records if "ACTION" in record.message] == [True]


def test_it_is_tried_again_when_settings_change(hits, configure, broken):
    for _ in range(2):
        configure(ACTION=broken("1/0"))
        Client().get("/page/")
    assert broken.imports() == 2


@pytest.mark.parametrize("last", ["raise RuntimeError('at import')", "raise SystemExit"])
def test_the_system_check_reports_it(configure, broken, last):
    configure(ACTION=broken(last))
    assert "locqueue_accesslog.E004" in [message.id for message in check_access_log()]


def test_a_text_for_a_list_is_one_entry(hits, configure):
    configure(EXCLUDE_PATHS="/page", EXCLUDE_METHODS="HEAD")
    Client().head("/page/")
    Client().get("/page/")
    assert [hit.method for hit in hits] == ["GET"]


def test_a_failure_to_build_is_remembered_until_settings_change(settings):
    tried = []

    @until_settings_change
    def value():
        tried.append(1)
        raise ValueError("settings")

    for error in (ValueError, ImproperlyConfigured, ImproperlyConfigured):
        with pytest.raises(error):
            value()
    assert len(tried) == 1
    settings.LOCQUEUE = {}
    with pytest.raises(ValueError, match="settings"):
        value()
