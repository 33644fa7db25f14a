"""The examples of docs/accesslog.md and of the README about log files run as they stand."""

import re
import shlex
from pathlib import Path

import pytest
from django.core.management import call_command

from django_locqueue.accesslog.files.combined import read
from django_locqueue.accesslog.models import AccessLog
from django_locqueue.accesslog.storage import to_row
from tests.accesslog.conftest import a_hit

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).parents[2]
SECTION = ROOT.joinpath("docs/accesslog.md").read_text().partition("\n## Log files\n")[2]
SECTION = SECTION.partition("\n## ")[0]
COMMANDS = re.findall(r"python manage\.py (accesslog [^>#\n]+)", SECTION + ROOT.joinpath("README.md").read_text())
LINE = '49.65.250.135 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 12 "-" "Mozilla/5.0"\n'


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_runs(command, tmp_path, monkeypatch, django_user_model):
    to_row(a_hit()).save()
    django_user_model.objects.create(username="alice")
    log = tmp_path / "access.log"
    log.write_text(LINE)
    part, *words = shlex.split(command)[1:]
    if part == "import" and words != ["-"]:
        words = [str(log) for _ in words]
    with log.open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        call_command("accesslog", part, *words)
    assert AccessLog.objects.count() == (2 if part == "import" else 1)


def test_nginx_writes_what_is_read():
    [block] = re.findall(r"```nginx\n(.*?)```", SECTION, re.DOTALL)
    line = "".join(re.findall(r"'([^']*)'", block))
    values = {
        "$remote_addr": "49.65.250.135",
        "$remote_user": "-",
        "$time_local": "17/May/2015:10:05:03 +0000",
        "$request_time": "0.043",
        "$request": "GET /a HTTP/1.1",
        "$status": "200",
        "$body_bytes_sent": "12",
        "$http_referer": "-",
        "$http_user_agent": "Mozilla/5.0",
    }
    for name, value in values.items():
        line = line.replace(name, value)
    hit = read(line)
    assert (hit.path, hit.duration_ms) == ("/a", 43.0)
