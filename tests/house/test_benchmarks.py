"""The benchmark's command works, and what it tells is what was measured. How fast anything is decides no test."""

import json
import subprocess
import sys

import pytest

from benchmarks import page
from benchmarks.report import Report
from benchmarks.worker import ROOT

DRAIN = {"measure": "drain", "name": "no-op", "unit": "tasks/s", "series": []}


@pytest.fixture
def report():
    report = Report(["two cores"], "python -m benchmarks")
    for value in (1200.0, 1000.0, 5000.0):
        report.add("ours, PostgreSQL", {**DRAIN, "value": value})
    report.add("ours, SQLite", {**DRAIN, "name": "one INSERT", "value": 9.876})
    return report


@pytest.mark.processes
def test_the_command_measures_with_real_workers(tmp_path):
    told = tmp_path / "told.json"
    options = ["--quick", "--no-postgres", "--product", "django-locqueue", "--only", "enqueue,drain", "--json", told]
    subprocess.run([sys.executable, "-m", "benchmarks", *options], cwd=ROOT, check=True, timeout=120)
    rows = json.loads(told.read_text())["rows"]
    assert [row["name"] for row in rows] == [
        "one at a time, 1 thread",
        "one at a time, 4 threads",
        "enqueue_many by 1,000",
        "no-op, defaults",
        "no-op, best configuration",
        "one INSERT, best configuration",
    ]
    assert all(value > 0 for row in rows for value in row["values"]["django-locqueue, SQLite"])


def test_a_cell_is_the_median_with_the_extremes(report):
    assert "| 1,200 (1,000–5,000) |" in report.table()


def test_what_was_not_measured_is_a_dash(report):
    *_, last = report.table().splitlines()
    assert [text.strip() for text in last.split("|")[3:5]] == ["–", "9.88"]


def test_a_report_is_read_as_it_was_written(report, tmp_path):
    report.write_json(tmp_path / "told.json")
    assert Report.read_json(tmp_path / "told.json") == report


def test_the_page_gets_the_table_between_its_markers(report, tmp_path):
    text = (ROOT / "docs" / "benchmarks.md").read_text()
    filled = tmp_path / "benchmarks.md"
    filled.write_text(text)
    page.fill(filled, report)
    assert report.table() in filled.read_text()
    assert filled.read_text().partition("<!-- measured")[0] == text.partition("<!-- measured")[0]


def test_the_page_says_that_a_run_was_a_quick_one(report, tmp_path):
    filled = tmp_path / "benchmarks.md"
    filled.write_text("<!-- measured: begin -->\n<!-- measured: end -->\n")
    page.fill(filled, report)
    assert page.QUICK not in filled.read_text()
    report.command += " --quick"
    page.fill(filled, report)
    assert page.QUICK in filled.read_text()


def test_a_page_without_markers_is_refused(report, tmp_path):
    bare = tmp_path / "page.md"
    bare.write_text("# Nothing\n")
    with pytest.raises(ValueError, match="one pair of the markers"):
        page.fill(bare, report)
