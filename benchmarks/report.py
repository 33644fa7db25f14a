"""What was measured, by row and by column, with the values of all rounds."""

import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Key = tuple[str, str, str]  # measure, name, unit


@dataclass
class Report:
    machine: Sequence[str]
    command: str
    values: dict[Key, dict[str, list[float]]] = field(default_factory=dict)  # by column: a product on a database
    series: dict[str, Sequence[float]] = field(default_factory=dict)  # the last round's, by name
    failed: list[str] = field(default_factory=list)  # columns that were not measured to the end

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(column for values in self.values.values() for column in values))

    def add(self, column: str, reading: dict[str, Any]) -> None:
        key = (reading["measure"], reading["name"], reading["unit"])
        self.values.setdefault(key, {}).setdefault(column, []).append(reading["value"])
        if reading["series"]:
            self.series[reading["name"]] = reading["series"]

    def median(self, measure: str, name: str, column: str) -> float | None:
        for (a_measure, a_name, _), values in self.values.items():
            if (a_measure, a_name) == (measure, name) and column in values:
                return statistics.median(values[column])
        return None

    def table(self) -> str:
        """Return a table in Markdown that can be read as it is: medians, of several rounds also the extremes."""
        lines = [["", "", *self.columns]]
        lines += [
            [f"{measure}: {name}", unit, *(cell(values.get(column, ())) for column in self.columns)]
            for (measure, name, unit), values in self.values.items()
        ]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        rule = ["-" * widths[0], "-" * widths[1], *("-" * (width - 1) + ":" for width in widths[2:])]
        return "\n".join(_line(line, widths) for line in (lines[0], rule, *lines[1:]))

    def write_json(self, path: Path) -> None:
        rows = [
            {"measure": measure, "name": name, "unit": unit, "values": values}
            for (measure, name, unit), values in self.values.items()
        ]
        told = {"machine": self.machine, "command": self.command, "rows": rows, "series": self.series}
        path.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n")

    @classmethod
    def read_json(cls, path: Path) -> "Report":
        told = json.loads(path.read_text())
        values = {(row["measure"], row["name"], row["unit"]): row["values"] for row in told["rows"]}
        return cls(told["machine"], told["command"], values, told["series"])


def cell(values: Sequence[float]) -> str:
    if not values:
        return "–"
    if len(values) == 1:
        return number(values[0])
    return f"{number(statistics.median(values))} ({number(min(values))}–{number(max(values))})"


def number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _line(cells: Iterable[str], widths: Sequence[int]) -> str:
    first, second, *rest = zip(cells, widths, strict=True)
    left = [text.ljust(width) for text, width in (first, second)]
    return "| " + " | ".join([*left, *(text.rjust(width) for text, width in rest)]) + " |"
