"""``manage.py accesslog``."""

import gzip
import io
import subprocess
import sys
from unittest.mock import Mock

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError
from django.utils import timezone

from django_locqueue.accesslog.files import bulk_insert, importing, progress
from django_locqueue.accesslog.models import AccessLog, Location
from django_locqueue.accesslog.storage import to_row
from tests.accesslog.conftest import a_hit
from tests.processes.process import environment

pytestmark = pytest.mark.django_db

GOOD = '49.65.250.135 - - [{}] "GET /{} HTTP/1.1" 200 12 "-" "Mozilla/5.0"\n'


@pytest.fixture
def log(tmp_path):
    """Return a function that writes a log of some lines and returns its path."""

    def write(*paths, garbage=0, end=""):
        path = tmp_path / "access.log"
        now = f"{timezone.now():%d/%b/%Y:%H:%M:%S +0000}"
        path.write_text("".join(GOOD.format(now, name) for name in paths) + "garbage\n" * garbage + end)
        return path

    return write


def said(capsys, *words, **options):
    call_command("accesslog", *map(str, words), **options)
    return capsys.readouterr()


def test_an_import_says_what_became_of_the_lines(capsys, log):
    path = log("a", "b", "a", garbage=6)
    out, err = said(capsys, "import", path)
    assert out.splitlines() == [
        f"{path}: 9 lines, 3 stored, 6 are no requests.",
        "1 network waits for a worker (manage.py runqueue) to be located.",
    ]
    assert "  line 4: expected: address" in err
    assert err.splitlines()[-1] == "  and 1 more"


def test_importing_again_says_that_all_was_there(capsys, log):
    path = log("a", "b")
    call_command("accesslog", "import", str(path))
    capsys.readouterr()
    out, _ = said(capsys, "import", path)
    assert out == f"{path}: 2 lines, 0 stored, 2 were there already.\n"


def test_a_gzip_file_is_imported(capsys, log, tmp_path):
    path = tmp_path / "access.log.gz"
    path.write_bytes(gzip.compress(log("a", "b").read_bytes()))
    said(capsys, "import", path)
    assert AccessLog.objects.count() == 2


def test_standard_input_is_imported(capsys, log, monkeypatch):
    with log("a", "b").open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        out, _ = said(capsys, "import", "-")
    assert out.startswith("standard input: 2 lines, 2 stored.")


def test_a_line_that_is_being_written_is_told(capsys, log):
    _, err = said(capsys, "import", log("a", end="49.65.2"))
    assert "The last line has no end yet" in err


def test_rows_that_the_next_pruning_will_delete_are_told(capsys, tmp_path):
    path = tmp_path / "access.log"
    path.write_text(GOOD.format("17/May/2015:10:05:03 +0000", "a"))
    _, err = said(capsys, "import", path)
    assert "RETENTION_DAYS = 180" in err


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(CommandError, match=r"cannot be read: .*No such file"):
        call_command("accesslog", "import", str(tmp_path / "nothing.log"))


def test_a_gzip_file_that_was_cut_is_an_error_after_what_could_be_read(capsys, tmp_path, log):
    path = tmp_path / "access.log.gz"
    path.write_bytes(gzip.compress(log(*map(str, range(20_000))).read_bytes())[:-20])
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("accesslog", "import", str(path))
    assert AccessLog.objects.count() >= 5_000
    assert " stored" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("error", "said_of_it", "code"),
    [(KeyboardInterrupt(), "Stopped.", 130), (OperationalError("disk full"), "The database failed: disk full.", 1)],
    ids=["Ctrl+C", "a database that fails"],
)
def test_whoever_is_stopped_hears_how_to_go_on(capsys, log, monkeypatch, error, said_of_it, code):
    monkeypatch.setattr(importing, "BATCH", 2)
    insert_new = bulk_insert.insert_new
    answers = [insert_new, Mock(side_effect=error)]
    monkeypatch.setattr(bulk_insert, "insert_new", lambda *args: answers.pop(0)(*args))
    path = log("a", "b", "c", "d", "e")
    with pytest.raises(CommandError, match=f"{said_of_it} The same command goes on") as raised:
        call_command("accesslog", "import", str(path))
    assert raised.value.returncode == code
    assert "2 lines, 2 stored." in capsys.readouterr().out
    monkeypatch.setattr(bulk_insert, "insert_new", insert_new)
    assert "5 lines, 3 stored, 2 were there already." in said(capsys, "import", path).out


def test_a_file_without_any_request_is_an_error(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("these are\nnotes\n")
    with pytest.raises(CommandError, match=r"no line of a log in combined or common format"):
        call_command("accesslog", "import", str(path))


def test_away_from_a_terminal_progress_is_a_line_now_and_then(monkeypatch):
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    text = io.StringIO()
    with progress.progress("access.log", 200, text) as show:
        show(100, "5,000 lines")
    assert text.getvalue() == "access.log: 50%, 5,000 lines\n"


def test_on_a_terminal_progress_is_a_bar():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    text = Terminal()
    with progress.progress("access[1].log", 200, text) as show:
        show(200, "5,000 lines")
    assert "access[1].log" in text.getvalue()
    assert "━" in text.getvalue()


def test_an_export_is_in_combined_format_unless_another_is_asked_for(capsys):
    to_row(a_hit("/a")).save()
    assert '"GET /a HTTP/1.1" 200 12' in said(capsys, "export").out
    assert said(capsys, "export", "--format", "csv").out.startswith("time,ip,")
    assert said(capsys, "export", "--format", "jsonl").out.startswith('{"time": ')


def test_addresses_are_shortened_unless_they_are_asked_for(capsys):
    to_row(a_hit()).save()
    assert said(capsys, "export").out.startswith("49.65.250.0 ")
    assert said(capsys, "export", "--full-ip").out.startswith("49.65.250.135 ")


@pytest.mark.parametrize(
    ("limits", "paths"),
    [
        (["--since", "2026-09-21"], ["/b", "/c"]),
        (["--until", "2026-09-21"], ["/a"]),
        (["--since", "2026-09-21", "--until", "2026-09-21 13:30"], ["/b"]),
        (["--since", "2026-09-21T21:31:00+08:00"], ["/c"]),
    ],
    ids=str,
)
def test_a_part_of_the_time_is_exported(capsys, limits, paths):
    for number, (path, hour) in enumerate([("/a", -20), ("/b", -1), ("/c", 0)]):
        to_row(a_hit(path, time=1_790_000_000.0 + hour * 3600, id=str(number))).save()
    lines = said(capsys, "export", *limits).out.splitlines()
    assert [line.split('"')[1].split()[1] for line in lines] == paths


def test_a_time_that_is_none_is_refused():
    with pytest.raises(CommandError, match="expected a time like 2026-11-30"):
        call_command("accesslog", "export", "--since", "yesterday")


@pytest.mark.processes
@pytest.mark.any_vendor
@pytest.mark.django_db(transaction=True)
def test_a_reader_that_has_seen_enough_ends_an_export_quietly():
    AccessLog.objects.bulk_create([to_row(a_hit(id=str(number))) for number in range(5_000)])
    command = [sys.executable, "-m", "django", "accesslog", "export"]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as export:
        assert export.stdout is not None
        assert export.stderr is not None
        assert export.stdout.readline().startswith(b"49.65.250.0 ")
        export.stdout.close()
        assert export.stderr.read() == b""
    assert export.returncode == 0


def test_networks_whose_place_is_not_known_are_located_again(capsys):
    Location.objects.create(pk="49.65.250.0/24", state="located")
    Location.objects.create(pk="8.8.8.0/24", state="unknown")
    assert said(capsys, "locate").out == "1 network waits for a worker (manage.py runqueue) to be located.\n"
    assert said(capsys, "locate", "--all").out.startswith("2 networks wait ")
    assert said(capsys, "locate", "49.65.250.135").out.startswith("1 network waits ")


def test_what_is_no_address_is_refused():
    with pytest.raises(CommandError, match="expected an address like"):
        call_command("accesslog", "locate", "somewhere")


def test_a_user_is_forgotten_by_name_or_by_key(capsys, django_user_model):
    alice = django_user_model.objects.create(username="alice")
    for number in range(3):
        to_row(a_hit(id=str(number), user_id=alice.pk if number else 99)).save()
    assert said(capsys, "forget", "--user", "alice").out == "Forgotten in 2 requests.\n"
    assert said(capsys, "forget", "--user-id", "99").out == "Forgotten in 1 request.\n"
    assert not AccessLog.objects.exclude(user=None).exists()


def test_an_address_is_forgotten(capsys):
    to_row(a_hit()).save()
    assert said(capsys, "forget", "--ip", "49.65.250.135").out == "Forgotten in 1 request.\n"
    assert AccessLog.objects.get().ip is None


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--user", "nobody"], "There is no user 'nobody'"),
        (["--user-id", "nobody"], "must be an integer"),
        (["--ip", "nowhere"], "is no IP address"),
        ([], "one of the arguments --user --user-id --ip is required"),
    ],
)
def test_who_is_not_known_cannot_be_forgotten(words, reason):
    with pytest.raises(CommandError, match=reason):
        call_command("accesslog", "forget", *words)


def test_pruning_says_what_it_has_deleted(capsys):
    to_row(a_hit(time=1_431_857_103.0)).save()
    assert said(capsys, "prune").out == "Deleted: requests 1, networks 0, counts 0, keys 0.\n"
