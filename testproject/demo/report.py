"""The account of a run, for a person at a terminal."""

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from testproject.demo.account import ONE_TASK_PER_ORDER, Account
from testproject.demo.latency import Comparison

# What testproject/shop/tasks.py does to show retries and failures.
ON_PURPOSE = "On purpose: each fourth receipt is retried, and cards over their limit fail."


def print_latency(console: Console, comparison: Comparison) -> None:
    table = _table("Response time (one page, in turns)", "half within", "95 % within")
    table.add_row("without the access log", *_milliseconds(comparison.without.p50, comparison.without.p95))
    table.add_row("with it", *_milliseconds(comparison.with_log.p50, comparison.with_log.p95))
    more50, more95 = (
        comparison.with_log.p50 - comparison.without.p50,
        comparison.with_log.p95 - comparison.without.p95,
    )
    table.add_row("difference", _difference(more50), _difference(more95))
    console.print(table)


def print_account(console: Console, account: Account) -> None:
    tasks = _table("Tasks", "succeeded", "failed", "cancelled", "retried")
    for row in account.tasks:
        tasks.add_row(row.name, *map(_number, (row.successful, row.failed, row.cancelled, row.retried)))
    console.print(tasks)
    if any(row.name in ONE_TASK_PER_ORDER for row in account.tasks):
        console.print(f" [dim]{ON_PURPOSE}[/]\n", highlight=False)

    networks = account.networks
    parts = [f"{networks.get(state, 0):,} {state}" for state in ("located", "reserved", "unknown")]
    console.print(f" [bold]Networks[/]   {sum(networks.values()):,}: {', '.join(parts)}", highlight=False)
    console.print(f" [bold]Requests[/]   {account.sent:,} sent, {account.recorded:,} recorded", highlight=False)
    if account.measured:
        console.print(
            f"            {account.measured:,} of them, from 127.0.0.1, compared response times",
            highlight=False,
        )
    console.print()


def print_verdict(console: Console, missing: list[str]) -> None:
    if not missing:
        console.print(
            Text(" Nothing was lost: ", "bold green").append(
                "every request is recorded once, every task has ended, every network is resolved.", "default"
            ),
            soft_wrap=True,
        )
        return
    console.print(Text(" Something is missing:", "bold red"))
    for sentence in missing:
        console.print(Text(f" - {sentence}"), soft_wrap=True)


def _table(title: str, *columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column(title, no_wrap=True, min_width=12)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _number(value: int) -> str:
    return f"{value:,}" if value else "–"


def _difference(milliseconds: float) -> str:
    # A request takes no less time for being recorded: what is below zero is noise, and so is as much above it.
    return "not measurable" if milliseconds < 0.005 else f"{milliseconds:+.2f} ms"


def _milliseconds(*values: float) -> list[str]:
    return [f"{value:.2f} ms" for value in values]
