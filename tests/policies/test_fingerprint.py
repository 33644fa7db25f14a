"""Which failures are of one kind: of one class, in the same words but for what varies, from the same line."""

import sys
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

from django_locqueue.policies import fingerprint
from django_locqueue.policies.fingerprint import MESSAGE_LENGTH, Place, kind_of, normalised
from django_locqueue.policies.outcome import ErrorReport


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("[Errno 111] Connection refused", "[Errno <n>] Connection refused"),
        ("duplicate key 'alice' for 'users.name'", "duplicate key <str> for <str>"),
        ('no order "A-1" of “Müller”', "no order <str> of <str>"),
        ("can't open file 'it.txt'", "can't open file <str>"),
        ("no task 123e4567-e89b-12d3-a456-426614174000 left", "no task <uuid> left"),
        ("<Order object at 0x7f3a1b2c>", "<Order object at <hex>>"),
        ("commit deadbeef42 is gone", "commit <hex> is gone"),
        ("the facade decade is over", "the facade decade is over"),
        ("took 1,234.5 s at 2026-11-30 14:02:11", "took <n> s at <n>-<n>-<n> <n>:<n>:<n>"),
        ("bob@example.com has no account", "<email> has no account"),
        ("订单 42 不存在", "订单 <n> 不存在"),
        ("the name 'was cut of…", "the name <str>"),
        ("", ""),
    ],
)
def test_what_varies_becomes_a_placeholder(message: str, expected: str):
    assert normalised(message) == expected


def test_what_looks_secret_is_not_in_the_message_of_a_kind():
    assert "hunter" not in normalised("login failed: password=hunter for postgres://bob:hunter@db/x")


def test_a_message_fits_its_column_also_with_placeholders():
    assert len(normalised("7 " * 100)) == MESSAGE_LENGTH


def test_a_hostile_message_takes_no_time():
    for text in ("'" * 200, "a@" * 100, "0x" * 100, "1," * 100, "a" * 199 + "1", "-" * 200):
        assert isinstance(normalised(text), str)


def test_numbers_do_not_make_another_kind_but_words_classes_and_lines_do():
    here = Place("shop/mail.py", 41, "send", "smtp.connect()")
    kind = kind_of("a.E", "order 1 failed", here)
    assert kind_of("a.E", "order 2 failed", here) == kind
    assert kind_of("a.E", "order 2 failed", here._replace(line=42)) == kind
    others = [
        kind_of("a.F", "order 1 failed", here),
        kind_of("a.E", "order 1 is late", here),
        kind_of("a.E", "order 1 failed", here._replace(text="smtp.send()")),
        kind_of("a.E", "order 1 failed", here._replace(file="shop/sms.py")),
        kind_of("a.E", "order 1 failed", None),
    ]
    assert len({each.fingerprint for each in [kind, *others]}) == 6
    assert len(kind.fingerprint) == 40


def raised(function: Any, *args: Any) -> BaseException:
    try:
        function(*args)
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def from_json() -> None:
    import json

    json.loads("{")


def test_the_place_is_the_last_line_of_the_projects_own_code():
    place = ErrorReport.of(raised(from_json)).place
    assert place is not None
    assert (place.file, place.function, place.text) == (
        "tests/policies/test_fingerprint.py",
        "from_json",
        'json.loads("{")',
    )
    assert str(place) == f"tests/policies/test_fingerprint.py:{place.line} from_json"


def trace_of(function: Any, *args: Any) -> TracebackType | None:
    return raised(function, *args).__traceback__.tb_next  # type: ignore[union-attr]


def test_an_error_of_which_no_line_is_the_projects_has_no_place():
    assert Place.of(trace_of(eval, "1 / 0")) is None
    assert Place.of(None) is None


def test_the_folder_of_a_release_is_not_part_of_the_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    found = []
    for release in ("r1", "r2"):
        folder = tmp_path / release / "shop"
        folder.mkdir(parents=True)
        (folder / "mail.py").write_text("def send():\n    raise ValueError(7)\n")
        monkeypatch.syspath_prepend(folder.parent)
        code: dict[str, Any] = {}
        exec(compile((folder / "mail.py").read_text(), str(folder / "mail.py"), "exec"), code)
        found.append(ErrorReport.of(raised(code["send"])))
    assert [str(each.place) for each in found] == ["shop/mail.py:2 send"] * 2
    assert found[0].kind == found[1].kind


@pytest.mark.parametrize(
    "file",
    [
        "<string>",
        "<frozen importlib._bootstrap>",
        "/srv/shop/.venv/lib/python3.13/site-packages/smtplib2/client.py",
        "/usr/lib/python3/dist-packages/apt/cache.py",
        sys.modules["json"].__file__,
        fingerprint.__file__,
    ],
)
def test_libraries_and_the_queue_itself_are_not_the_project(file: str):
    assert fingerprint._file_in_project(file) is None
