"""Where lines come from."""

import gzip

import pytest

from django_locqueue.accesslog.files import log_file
from django_locqueue.accesslog.files.log_file import LogFile


def lines(path):
    with LogFile(str(path)) as log:
        return list(log)


def test_a_gzip_file_is_known_by_its_content(tmp_path):
    path = tmp_path / "access.log.1"
    path.write_bytes(gzip.compress(b"one\ntwo\n"))
    assert lines(path) == [b"one\n", b"two\n"]


def test_files_that_were_joined_are_one(tmp_path):
    path = tmp_path / "access.log.gz"
    path.write_bytes(gzip.compress(b"one\n") + gzip.compress(b"two\n"))
    assert lines(path) == [b"one\n", b"two\n"]


def test_an_empty_file_has_no_lines(tmp_path):
    path = tmp_path / "access.log"
    path.touch()
    assert lines(path) == []


def test_an_endless_line_is_given_by_its_beginning(tmp_path, monkeypatch):
    monkeypatch.setattr(log_file, "MAX_LINE", 8)
    path = tmp_path / "access.log"
    path.write_bytes(b"x" * 100 + b"\nnext\n" + b"y" * 8)
    assert lines(path) == [b"xxxxxxxx", b"next\n", b"yyyyyyyy"]


def test_how_far_it_is_can_be_asked(tmp_path):
    path = tmp_path / "access.log"
    path.write_bytes(b"one\ntwo\n")
    with LogFile(str(path)) as log:
        next(iter(log))
        assert (log.position, log.size) == (4, 8)


@pytest.mark.parametrize("damage", [lambda data: data[:-12], lambda data: data[:20] + b"\xff" * 20 + data[40:]])
def test_a_gzip_file_that_was_cut_or_damaged_is_an_error(tmp_path, damage):
    path = tmp_path / "access.log.gz"
    path.write_bytes(damage(gzip.compress("\n".join(map(str, range(1000))).encode())))
    with pytest.raises(OSError, match="gzip data are cut or damaged"):
        lines(path)
