"""System checks of the spool's folder and of the logger."""

import logging

import pytest

from django_locqueue.accesslog.delivery import HITS_LOGGER
from django_locqueue.accesslog.recorder_checks import check_recorder
from django_locqueue.accesslog.spool import Spool
from tests.accesslog.conftest import a_hit


def found():
    messages = check_recorder()
    assert all(message.hint for message in messages)
    return [str(message.id).removeprefix("locqueue_accesslog.") for message in messages]


def test_the_defaults_are_right(site):
    assert found() == []


def test_a_spool_with_a_folder_is_right(configure, tmp_path):
    configure(OVERFLOW="spool", SPOOL_DIR=tmp_path)
    assert found() == []


@pytest.mark.parametrize("given", [7, "", ["/tmp"], True])
def test_a_folder_that_is_no_path_is_an_error(configure, given):
    configure(SPOOL_DIR=given)
    assert found() == ["E030"]


def test_a_spool_without_a_folder_is_an_error(configure):
    configure(OVERFLOW="spool")
    assert found() == ["E031"]


def test_a_relative_folder_is_an_error(configure):
    configure(OVERFLOW="spool", SPOOL_DIR="spool")
    assert found() == ["E032"]


def test_a_folder_that_is_missing_is_an_error_with_the_command_that_helps(configure, tmp_path):
    configure(OVERFLOW="spool", SPOOL_DIR=tmp_path / "nowhere")
    assert found() == ["E033"]
    assert f"mkdir -m 700 {tmp_path / 'nowhere'}" in str(check_recorder()[0].hint)


def test_a_file_is_no_folder(configure, tmp_path):
    path = tmp_path / "file"
    path.touch()
    configure(OVERFLOW="spool", SPOOL_DIR=path)
    assert found() == ["E033"]


def test_a_folder_that_cannot_be_written_is_an_error(configure, tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: False)  # root may write everywhere
    configure(OVERFLOW="spool", SPOOL_DIR=tmp_path)
    assert found() == ["E033"]


def test_a_folder_that_visitors_can_fetch_from_is_an_error(configure, site, tmp_path):
    folder = tmp_path / "media" / "spool"
    folder.mkdir(parents=True)
    site.MEDIA_ROOT = str(tmp_path / "media")
    configure(OVERFLOW="spool", SPOOL_DIR=folder)
    assert found() == ["E034"]


def test_a_folder_is_not_looked_for_unless_it_is_used(configure, tmp_path):
    configure(SPOOL_DIR=tmp_path / "nowhere")
    assert found() == []


def test_files_that_nobody_sends_any_more_are_noticed(configure, tmp_path):
    Spool(tmp_path).write([a_hit()])
    configure(SPOOL_DIR=tmp_path)
    assert found() == ["W031"]


def test_a_logger_that_drops_the_lines_is_noticed(configure, caplog):
    caplog.set_level(logging.WARNING, logger=HITS_LOGGER)
    configure(BACKEND="logging")
    assert found() == ["W030"]


def test_a_logger_that_writes_them_is_right(configure, caplog):
    caplog.set_level(logging.INFO, logger=HITS_LOGGER)
    configure(BACKEND="logging")
    assert found() == []


def test_a_log_that_is_off_needs_nothing(configure):
    configure(ENABLED=False, OVERFLOW="spool")
    assert found() == []
