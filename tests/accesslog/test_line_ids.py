"""What lines are known by."""

from django_locqueue.accesslog.files import reader
from django_locqueue.accesslog.files.reader import LineIds


def ids(*lines):
    known = LineIds()
    return [known.id_of(line, 1_431_857_103.0) for line in lines]


def test_a_line_has_the_same_id_each_time_a_file_is_read():
    assert ids(b"one", b"two") == ids(b"one", b"two")


def test_equal_lines_are_told_apart_by_their_number():
    found = ids(b"one", b"two", b"one", b"one")
    assert len(set(found)) == 4
    assert found[0] == ids(b"one")[0]


def test_an_id_fits_its_column_and_begins_with_the_second():
    [found] = ids(b"one")
    assert len(found) == 32
    assert int(found[:8], 16) == 1_431_857_103


def test_without_the_sites_secret_nobody_can_try_which_line_gives_an_id(settings):
    before = ids(b"one")
    settings.SECRET_KEY = "another"
    assert ids(b"one") != before


def test_a_copy_far_behind_is_the_same_line(monkeypatch):
    monkeypatch.setattr(reader, "WINDOW", 10)
    between = [b"%d" % number for number in range(30)]
    found = ids(b"one", *between, b"one")
    assert found[0] == found[-1]


def test_equal_lines_are_counted_over_the_edge_of_a_window(monkeypatch):
    monkeypatch.setattr(reader, "WINDOW", 10)
    for length in range(9, 12):
        between = [b"%d" % number for number in range(length - 2)]
        assert len(set(ids(*between, b"one", b"one", b"one"))) == length + 1
