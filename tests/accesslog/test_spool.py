"""Files that keep hits while the queue cannot take them."""

import json
import os
import stat
import threading
import time

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from django_locqueue.accesslog import spool as module
from django_locqueue.accesslog.spool import Spool
from tests.accesslog.conftest import a_hit


@pytest.fixture
def spool(tmp_path):
    return Spool(tmp_path)


def names(spool):
    return sorted(path.suffix for path in spool.folder.iterdir())


def age(path):
    """Put a file into the past."""
    past = time.time() - module.ABANDONED_AFTER_SECONDS - 1
    os.utime(path, (past, past))


def test_what_is_written_is_read(spool):
    hits = [a_hit("/ä\U0001f600\n"), a_hit("/b", ip=None, user_id="7f", weight=2.5)]
    assert spool.write(hits)
    assert spool.claim().read() == (hits, 0)


def test_the_oldest_file_is_taken_first(spool):
    for path in ("/a", "/b", "/c"):
        spool.write([a_hit(path)])
    assert [spool.claim().read()[0][0].path for _ in range(3)] == ["/a", "/b", "/c"]


def test_an_empty_folder_has_nothing_to_send(spool):
    assert spool.claim() is None


def test_other_files_in_the_folder_are_left_alone(spool):
    other = spool.folder / "README.txt"
    other.write_text("mine")
    age(other)
    assert spool.claim() is None
    assert other.read_text() == "mine"


def test_a_file_is_taken_once(spool):
    spool.write([a_hit()])
    assert spool.claim() is not None
    assert spool.claim() is None


def test_of_many_threads_each_file_goes_to_one(spool):
    for number in range(30):
        spool.write([a_hit(f"/{number}")])
    paths, start = [], threading.Barrier(4)

    def take():
        start.wait()
        while (file := spool.claim()) is not None:
            paths.extend(hit.path for hit in file.read()[0])
            file.remove()

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(paths) == sorted(f"/{number}" for number in range(30))


def test_what_is_sent_is_gone(spool):
    spool.write([a_hit()])
    spool.claim().remove()
    assert names(spool) == []


def test_what_was_not_sent_can_be_taken_again(spool):
    spool.write([a_hit("/a")])
    spool.claim().give_back()
    assert spool.claim().read() == ([a_hit("/a")], 0)


def test_a_file_whose_sender_was_killed_is_taken_up_after_a_while(spool):
    spool.write([a_hit("/a")])
    file = spool.claim()
    age(file.path)
    assert spool.claim().read() == ([a_hit("/a")], 0)


def test_a_file_whose_writer_was_killed_is_taken_up_without_its_broken_line(spool):
    whole = json.dumps(a_hit("/a").to_json())
    half = spool.folder / "00000000000000000001-1-x.writing"
    half.write_text(f"{whole}\n{whole[:40]}")
    assert spool.claim() is None
    age(half)
    assert spool.claim().read() == ([a_hit("/a")], 1)


@pytest.mark.parametrize("line", [b"{}", b"[]", b"null", b"\xff\xfe", b"[1,2", b"\x00"])
def test_a_line_that_holds_no_hit_is_counted(spool, line):
    spool.folder.joinpath("1.jsonl").write_bytes(line + b"\n")
    assert spool.claim().read() == ([], 1)


def test_a_full_spool_takes_nothing_more(spool, monkeypatch):
    spool.write([a_hit("/a")])
    [size] = [path.stat().st_size for path in spool.folder.iterdir()]
    monkeypatch.setattr(module, "MOST_BYTES", 2 * size)
    assert spool.write([a_hit("/b")])
    assert not spool.write([a_hit("/c")])
    assert names(spool) == [".jsonl", ".jsonl"]


def test_nobody_else_may_read_the_addresses(spool):
    spool.write([a_hit()])
    [path] = spool.folder.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_disk_that_is_full_leaves_no_half_file(spool, monkeypatch):
    def fail(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.Path, "replace", fail)
    with pytest.raises(OSError, match="No space"):
        spool.write([a_hit()])
    assert names(spool) == []


def test_a_folder_that_is_gone_is_an_error(tmp_path):
    spool = Spool(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError):
        spool.write([a_hit()])
    with pytest.raises(FileNotFoundError):
        spool.claim()


def test_a_file_that_cannot_be_taken_holds_up_no_other(spool, monkeypatch):
    spool.write([a_hit("/theirs")])
    [theirs] = spool.folder.iterdir()
    spool.write([a_hit("/ours")])
    touch = os.utime

    def refuse(path):
        if path == theirs:
            raise PermissionError(path)
        touch(path)

    monkeypatch.setattr(module.os, "utime", refuse)
    assert spool.claim().read() == ([a_hit("/ours")], 0)
    with pytest.raises(PermissionError):
        spool.claim()


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=80), st.text(max_size=80))
def test_any_text_survives(spool, path, agent):
    hit = a_hit(path, user_agent=agent)
    spool.write([hit])
    file = spool.claim()
    assert file.read() == ([hit], 0)
    file.remove()
