"""The examples of docs/accesslog.md about the recorder run as they stand."""

import json
import re
import subprocess
import sys
from pathlib import Path

from django.core import checks
from django.utils import timezone

from django_locqueue.accesslog.asgi import LifespanMiddleware
from django_locqueue.accesslog.conf import access_log
from django_locqueue.accesslog.losses import record_loss
from tests.accesslog.conftest import a_hit

DOCS = Path(__file__).parents[2].joinpath("docs/accesslog.md").read_text()
SECTION = DOCS.partition("\n## From the request to the queue\n")[2].partition("\n## ")[0]
BLOCKS = re.findall(r"^```python\n(.*?)^```", SECTION, re.DOTALL | re.MULTILINE)


def run(word):
    """Run the block that holds ``word``; return its names, the value of a last line that is one as ``_``."""
    [text] = [text for text in BLOCKS if word in text]
    names = {}
    exec(compile(text, "docs/accesslog.md", "exec"), names)
    last = text.strip().splitlines()[-1]
    if re.match(r"\w+\(", last):
        names["_"] = eval(compile(last, "docs/accesslog.md", "eval"), names)
    return names


def found(settings, names):
    for name, value in names.items():
        if name.isupper() and name != "LOGGING":
            setattr(settings, name, value)
    return [str(each.id) for each in checks.run_checks(databases=[]) if str(each.id).startswith("locqueue_accesslog")]


def test_the_settings_lack_nothing_but_the_folder(settings):
    assert found(settings, run("SPOOL_DIR")) == ["locqueue_accesslog.E033"]


def test_the_settings_that_are_shown_are_the_defaults(settings):
    shown = run("SPOOL_DIR")["LOCQUEUE"]["ACCESS_LOG"]
    assert {key for key, value in shown.items() if access_log.defaults[key] != value} == {"OVERFLOW", "SPOOL_DIR"}


def test_the_logger_that_is_shown_takes_the_lines():
    [text] = [text for text in BLOCKS if "LOGGING" in text]
    code = (
        f"{text}\n"
        "import django; from django.conf import settings\n"
        "settings.configure(LOCQUEUE=LOCQUEUE, LOGGING=LOGGING); django.setup()\n"
        "from django_locqueue.accesslog.delivery import deliver; from django_locqueue.accesslog.hit import Hit\n"
        f"deliver([{a_hit('/a')!r}])"
    )
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=60)
    assert [json.loads(line)["path"] for line in told.stdout.splitlines()] == ["/a"]


def test_the_application_is_wrapped():
    assert isinstance(run("asgi")["application"], LifespanMiddleware)


def test_an_empty_buffer_is_flushed():
    assert run("import flush")["_"] is True


def test_what_was_lost_is_counted(db):
    record_loss.func(loss_id="1", time=timezone.now().timestamp(), dropped=1204, refused=0, errors=0)
    assert run("lost_since")["_"].dropped == 1204
