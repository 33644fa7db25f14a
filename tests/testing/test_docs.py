"""The examples of docs/testing.md run as they stand, and its sample of a failing assertion is what is printed."""

import inspect
import re
import sys
import unittest
from pathlib import Path
from types import ModuleType

import pytest
from django.db import transaction
from django.test import TestCase

from django_locqueue import registry
from django_locqueue.testing import assert_enqueued

DOCS = Path(__file__).parents[2].joinpath("docs/testing.md").read_text()
INTRODUCTION, *SECTIONS = DOCS.split("\n## ")


def blocks_of(text):
    return re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def block_of(title):
    """Return the last Python block of a section."""
    [section] = [each for each in SECTIONS if each.startswith(f"{title}\n")]
    return blocks_of(section)[-1]


@pytest.fixture
def shop(monkeypatch):
    """Return the module that the first block is, where the others import it from."""
    monkeypatch.setattr(registry, "_definitions", dict(registry._definitions))
    package, module = ModuleType("shop"), ModuleType("shop.tasks")
    monkeypatch.setitem(sys.modules, "shop", package)
    monkeypatch.setitem(sys.modules, "shop.tasks", module)
    package.tasks = module
    [source] = blocks_of(INTRODUCTION)
    exec(compile(source, "docs/testing.md", "exec"), vars(module))
    return module


def names_in(title, monkeypatch):
    """Return the names that a section's block defines."""
    module = ModuleType("shop.tests")
    monkeypatch.setitem(sys.modules, "shop.tests", module)
    exec(compile(block_of(title), "docs/testing.md", "exec"), vars(module))
    return vars(module)


def run_functions(names, request):
    ran = 0
    for name, test in names.items():
        if name.startswith("test_"):
            with transaction.atomic():  # neither sees the other's tasks, as in a project
                test(**{argument: request.getfixturevalue(argument) for argument in inspect.signature(test).parameters})
                transaction.set_rollback(True)
            ran += 1
    assert ran


@pytest.mark.django_db(transaction=True)
def test_the_test_case_passes(shop, monkeypatch):
    names = names_in("Run tasks", monkeypatch)
    [case] = [each for each in names.values() if isinstance(each, type) and each is not TestCase]
    result = unittest.TestResult()
    unittest.TestLoader().loadTestsFromTestCase(case).run(result)
    assert (result.testsRun, result.errors, result.failures) == (2, [], [])


@pytest.mark.django_db
@pytest.mark.parametrize("title", ["What is enqueued", "Let time pass", "The pytest plugin"])
def test_its_tests_pass(shop, monkeypatch, request, title):
    names = names_in(title, monkeypatch)
    run_functions(names, request)


@pytest.mark.django_db
def test_the_settings_for_tests_work(shop, monkeypatch, request, settings):
    [section] = [each for each in SECTIONS if each.startswith("Without rows\n")]
    names = {}
    exec(compile(blocks_of(section)[0], "docs/testing.md", "exec"), names)
    settings.TASKS = names["TASKS"]
    run_functions(names_in("Without rows", monkeypatch), request)


@pytest.mark.django_db
def test_the_sample_of_a_failing_assertion_is_what_is_printed(shop):
    [sample] = re.findall(r"^```\n(shop.tasks.*?)^```", DOCS, re.DOTALL | re.MULTILINE)
    shop.send_receipt.enqueue(7)
    with pytest.raises(AssertionError) as raised:
        assert_enqueued(shop.send_receipt, 8)
    assert f"{raised.value}\n" == sample
