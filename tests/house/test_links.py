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


def test_each_case_is_tested_where_the_list_says():
    listed = (ROOT / "docs" / "cases.md").read_text()
    paths = set(re.findall(r"`(tests/[^`]+)`", listed))
    assert paths
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


PACKAGE = ROOT / "django_locqueue"
LISTED_WHOLE = ("store", "worker", "policies", "models", "scheduler", "observability")


@pytest.mark.parametrize("folder", ["", *LISTED_WHOLE])
def test_each_module_has_its_place_in_the_layout(folder: str):
    layout = (ROOT / "docs" / "architecture.md").read_text().split("```")[1]
    modules = {path.stem for path in (PACKAGE / folder).glob("*.py")} - {"__init__"}
    assert sorted(modules - set(re.findall(r"\w+", layout))) == []
