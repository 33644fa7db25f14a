"""What the documents point to is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_each_relative_link_leads_to_something(document: Path):
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", document.read_text())
    assert [link for link in links if not (document.parent / link).exists()] == []


CASES = re.findall(r"^\| ([A-I]\d+) \|.*\| (.+) \|$", (ROOT / "docs" / "cases.md").read_text(), re.MULTILINE)


@pytest.mark.parametrize(("case", "listed"), CASES, ids=[case for case, _ in CASES])
def test_each_case_has_tests_of_its_name_where_the_list_says(case: str, listed: str):
    paths = [ROOT / path for path in re.findall(r"`(tests/[^`]+)`", listed)]
    assert [path for path in paths if not path.exists()] == []
    named = re.compile(rf"def test_([a-i]\d+_)*{case.lower()}_|class Test{case}:")
    assert any(named.search(path.read_text()) for path in paths if path.is_file())


PACKAGE = ROOT / "django_locqueue"
LISTED_WHOLE = ("store", "worker", "policies", "models", "scheduler", "observability")


@pytest.mark.parametrize("folder", ["", *LISTED_WHOLE])
def test_each_module_has_its_place_in_the_layout(folder: str):
    layout = (ROOT / "docs" / "architecture.md").read_text().split("```")[1]
    modules = {path.stem for path in (PACKAGE / folder).glob("*.py")} - {"__init__"}
    assert sorted(modules - set(re.findall(r"\w+", layout))) == []
