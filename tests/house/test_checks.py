"""Each id of a system check stands for one thing: it is what a project silences."""

import re
from collections import defaultdict
from pathlib import Path

import django_locqueue

PACKAGE = Path(django_locqueue.__file__).parent


def test_no_two_modules_use_one_id():
    modules = defaultdict(set)
    for path in PACKAGE.rglob("*.py"):
        for found in re.findall(r'id="([a-z_]+\.[EW]\d+)"', path.read_text()):
            modules[found].add(path.name)
    assert len(modules) > 20
    assert {found: names for found, names in modules.items() if len(names) > 1} == {}
