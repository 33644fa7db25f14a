"""The pictures of docs/benchmarks.md, as SVG: no background and a grey that can be read on white and on black."""

from pathlib import Path
from typing import Any

from benchmarks.report import Report

GREY = "#808080"
COLOURS = {"ready": "#3b82f6", "scheduled": "#e07b1a", "finished": "#1fa35c"}
OURS = "django-locqueue, PostgreSQL"


def write(report: Report, folder: Path) -> list[Path]:
    """Write what the report has numbers for, and return the files. Needs matplotlib, the extra ``bench``."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise SystemExit("Plots need matplotlib: pip install 'django-locqueue[bench]'") from error
    mpl.use("svg")
    mpl.rc("svg", fonttype="none", hashsalt="locqueue")  # text stays text, and the same numbers make the same file
    mpl.rc("text", color=GREY)
    mpl.rc("axes", labelcolor=GREY, edgecolor=GREY)
    mpl.rc("xtick", color=GREY)
    mpl.rc("ytick", color=GREY)
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    if any(measure == "backlog" for measure, _, _ in report.values):
        made.append(_save(_backlog(report), folder / "backlog.svg"))
    if report.series:
        made.append(_save(_snapshot(report), folder / "snapshot.svg"))
    return made


def _backlog(report: Report) -> Any:
    from matplotlib import pyplot

    names = [name for measure, name, _ in report.values if measure == "backlog"]
    sizes = list(dict.fromkeys(name.partition(" ")[0] for name in names))
    figure, panels = pyplot.subplots(1, 2, figsize=(10, 3.8))
    panel_titles = {"served": "tasks served each second", "a claim": "microseconds of a claim, for each task"}
    for panel, (what, title) in zip(panels, panel_titles.items(), strict=True):
        for kind, colour in COLOURS.items():
            rows = [f"{size} {kind if size != '0' else 'rows'}: {what}" for size in sizes]
            heights = [report.median("backlog", row, OURS) for row in rows]
            panel.plot(sizes, heights, color=colour, marker="o", linewidth=2, label=kind)
        _dress(panel, title, "rows beside the tasks")
    panels[0].legend(frameon=False, loc="lower left")
    return figure


def _snapshot(report: Report) -> Any:
    from matplotlib import pyplot

    figure, panel = pyplot.subplots(figsize=(10, 3.4))
    for (name, rates), colour in zip(report.series.items(), COLOURS.values(), strict=False):
        panel.plot(range(1, len(rates) + 1), rates, color=colour, linewidth=1.8, label=name.partition(",")[0])
    _dress(panel, "tasks served each second", "seconds")
    panel.legend(frameon=False, loc="lower left")
    return figure


def _dress(panel: Any, title: str, below: str) -> None:
    panel.set_title(title, fontsize=11, loc="left")
    panel.set_xlabel(below)
    panel.set_ylim(bottom=0)
    panel.yaxis.set_major_formatter("{x:,.0f}")
    panel.grid(axis="y", color=GREY, alpha=0.25)
    panel.spines[["top", "right"]].set_visible(False)


def _save(figure: Any, path: Path) -> Path:
    figure.tight_layout()
    figure.savefig(path, transparent=True, metadata={"Date": None})
    return path
