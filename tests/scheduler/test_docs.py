"""The examples of docs/tasks.md about schedules can be copied."""

import re
import sys
import types
from pathlib import Path

import pytest
from django.core import checks

from django_locqueue.scheduler.defined import defined_schedules
from django_locqueue.scheduler.rule import rule_of
from django_locqueue.scheduler.slots import next_slots
from tests.scheduler.oracle import utc

TEXT = (Path(__file__).parents[2] / "docs/tasks.md").read_text()
SECTION = TEXT.partition("## Schedules\n")[2].partition("\n## ")[0]
IN_TASKS, IN_SETTINGS, WITH_CONTEXT = re.findall(r"^```python\n(.*?)^```", SECTION, re.DOTALL | re.MULTILINE)


@pytest.fixture
def shop(monkeypatch):
    """A module ``shop.tasks``, in which the examples stand."""
    modules = {name: types.ModuleType(name) for name in ("shop", "shop.tasks")}
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    names = vars(modules["shop.tasks"])
    exec("from django_locqueue import task\n@task\ndef clean_up(what, days): ...\n", names)
    return names


def test_the_schedules_above_tasks_can_be_copied(shop):
    exec(IN_TASKS + WITH_CONTEXT, shop)
    assert [(each.name, each.cron or each.every) for each in defined_schedules()] == [
        ("shop.tasks.send_report", "30 8 * * MON-FRI"),
        ("shop.tasks.poll_orders", 10),
        ("shop.tasks.count_orders", "0 * * * *"),
    ]


def test_the_schedules_in_settings_can_be_copied(shop, settings):
    names = {}
    exec(IN_SETTINGS, names)
    settings.LOCQUEUE = names["LOCQUEUE"]
    assert [message for message in checks.run_checks(databases=[]) if str(message.id).startswith("locqueue")] == []
    assert [each.name for each in defined_schedules()] == ["nightly"]


@pytest.mark.parametrize(("field", "days"), [("L * *", [31]), ("* * FRI#2", [9]), ("* * 5L", [30])])
def test_the_last_and_the_second_of_a_month_are_what_is_said(field, days):
    found = next_slots(rule_of(f"0 3 {field}", timezone="UTC"), utc(2026, 10, 1), 1)
    assert [at.day for at in found] == days
