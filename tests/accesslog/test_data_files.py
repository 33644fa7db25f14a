"""A data file has many readers: threads and processes share it, and another may take its place at any time."""

import os
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address

import pytest

from django_locqueue.accesslog.geo.errors import GeoError
from django_locqueue.accesslog.geo.kept_file import KeptFile
from django_locqueue.accesslog.geo.mmdb import Mmdb
from django_locqueue.accesslog.geo.xdb import Xdb
from tests.accesslog.mmdb_builder import build_mmdb
from tests.accesslog.xdb_builder import build_xdb


def many_addresses():
    rng = random.Random(7)
    return [ip_address(f"49.65.{rng.randrange(256)}.{rng.randrange(256)}") for _ in range(5000)]


def build_in_mmdb(path, city):
    records = {f"49.65.{n}.0/24": {"country_code": "CN", "city": f"{city}{n}"} for n in range(0, 256, 2)}
    return Mmdb([build_mmdb(path, records)])


def build_in_xdb(path, city):
    rows = [(f"49.65.{n}.0", f"49.65.{n}.255", f"中国|0|0|{city}{n}|0") for n in range(0, 256, 2)]
    return Xdb({4: build_xdb(path, 2, 4, rows)})


BUILDERS = pytest.mark.parametrize("build", [build_in_mmdb, build_in_xdb])


@BUILDERS
def test_i12_threads_share_a_reader(tmp_path, build):
    provider, addresses = build(tmp_path / "data", "a"), many_addresses()
    serial = [provider.lookup(address) for address in addresses]
    assert len(set(serial)) == 129
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(provider.lookup, addresses)) == serial


@BUILDERS
def test_i12_forked_processes_share_a_reader(tmp_path, build):
    provider, addresses = build(tmp_path / "data", "a"), many_addresses()
    serial = [provider.lookup(address) for address in addresses]
    children = []
    for _ in range(4):
        pid = os.fork()
        if pid == 0:
            os._exit(0 if [provider.lookup(address) for address in addresses] == serial else 1)
        children.append(pid)
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children] == [0] * 4


@BUILDERS
def test_i12_a_file_that_is_replaced_while_threads_read_it_is_picked_up_by_all(tmp_path, build):
    provider, addresses = build(tmp_path / "data", "old"), many_addresses()
    old = {address: provider.lookup(address) for address in addresses}
    replacement = build(tmp_path / "new", "new")
    new = {address: replacement.lookup(address) for address in addresses}
    replaced = threading.Event()

    def read():
        """Return what was found before, and what after the file was replaced; the first round is before."""
        before = [provider.lookup(address) for address in addresses[:100]]
        barrier.wait()
        while not replaced.is_set():
            found = [(address, provider.lookup(address)) for address in addresses[:100]]
            assert all(place in (old[address], new[address]) for address, place in found)
        return before, [provider.lookup(address) for address in addresses]

    barrier = threading.Barrier(9)
    with ThreadPoolExecutor(8) as pool:
        readers = [pool.submit(read) for _ in range(8)]
        barrier.wait()
        (tmp_path / "new").replace(tmp_path / "data")
        replaced.set()
        results = [reader.result() for reader in readers]
    for before, after in results:
        assert before == [old[address] for address in addresses[:100]]
        assert after == [new[address] for address in addresses]


def test_a_file_is_opened_once_until_it_changes(tmp_path):
    path = tmp_path / "data"
    path.write_text("one")
    opened = []
    kept = KeptFile(path, lambda path: opened.append(path.read_text()) or opened[-1])
    assert [kept.get(), kept.get()] == ["one", "one"]
    (tmp_path / "new").write_text("another")
    (tmp_path / "new").replace(path)
    assert [kept.get(), kept.get()] == ["another", "another"]
    assert opened == ["one", "another"]


def test_a_file_that_could_not_be_opened_is_tried_again(tmp_path):
    path = tmp_path / "data"
    kept = KeptFile(path, lambda path: path.read_text())
    with pytest.raises(GeoError, match="cannot be read"):
        kept.get()
    path.write_text("there")
    assert kept.get() == "there"


def test_i10_what_is_no_file_is_refused_with_its_name(tmp_path):
    (tmp_path / "folder.xdb").mkdir()
    with pytest.raises(GeoError, match=r"folder\.xdb cannot be read"):
        Xdb({4: tmp_path / "folder.xdb"}).lookup(ip_address("8.8.8.8"))
