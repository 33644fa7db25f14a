"""The generated parts of docs/benchmarks.md: nobody types a number."""

import re
from pathlib import Path

from benchmarks.report import Report

QUICK = "**This was a quick run. It shows what is measured, not how fast anything is.**"


def fill(page: Path, report: Report) -> None:
    """Put the report between the page's two markers. Raises ValueError if it has none."""
    machine = "\n".join(f"- {sentence}" for sentence in report.machine)
    between = f"```\n{report.command}\n```\n\n{machine}\n\n{report.table()}"
    if "--quick" in report.command:
        between = f"{QUICK}\n\n{between}"
    text, count = re.subn(
        r"(?s)(<!-- measured: begin[^\n]*-->\n).*?(<!-- measured: end -->)",
        lambda found: f"{found[1]}\n{between}\n\n{found[2]}",
        page.read_text(),
    )
    if count != 1:
        raise ValueError(f"{page} must have one pair of the markers «measured: begin» and «…: end», not {count}.")
    page.write_text(text)
