"""What the access log's analytics say about the run, as a table."""

from datetime import datetime

from django.utils import timezone
from rich import box
from rich.console import Console
from rich.table import Table

from django_locqueue.accesslog.analytics.period import Period
from django_locqueue.accesslog.analytics.reading import Overview, overview, top
from django_locqueue.accesslog.analytics.reading import Table as Counts
from django_locqueue.accesslog.analytics.tasks import count_stale_hours
from django_locqueue.accesslog.models import AccessLog, HourlyStat

Dimension = HourlyStat.Dimension

HOURS = 24
SIDE_BY_SIDE = 108  # columns that two tables take
LONGEST_LABEL = 24


def print_analytics(console: Console, missing: list[str]) -> None:
    """Print the last day, counted up to now; add a sentence to ``missing`` if the counts are not those of the log."""
    count_stale_hours()  # the worker does it once a minute
    now = timezone.now()
    period = Period.last(HOURS, now)
    seen = overview(period, now, compare=False)
    logged = AccessLog.objects.filter(time__gte=period.start, time__lt=period.end).count()
    if seen.totals.everything != logged:
        missing.append(f"The analytics count {seen.totals.everything:,} requests; in the log there are {logged:,}.")
    _print_totals(console, seen)
    tables = [
        _table(title, top(dimension, period, within=within))
        for title, dimension, within in (
            ("Country", Dimension.COUNTRY, ""),
            ("Province of China", Dimension.PROVINCE, "CN"),
            ("Path", Dimension.PATH, ""),
            ("IP address", Dimension.IP, ""),
            ("Status", Dimension.STATUS, ""),
            ("Network operator", Dimension.ISP, ""),
        )
    ]
    columns = 2 if console.width >= SIDE_BY_SIDE else 1
    grid = Table.grid(padding=(0, 2))
    for start in range(0, len(tables), columns):
        grid.add_row(*tables[start : start + columns])
    console.print(grid)
    busiest = max(seen.hours, key=lambda hour: hour.hits)
    console.print(f" [dim]Without bots. Busiest hour: {_clock(busiest.start)}, {busiest.hits:,} requests.[/]\n")


def _print_totals(console: Console, seen: Overview) -> None:
    figures, visitors = seen.totals.figures, seen.totals.visitors
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for column in (f"Analytics, {HOURS} hours", "unique IPs", "errors 5xx", "p95", "bots"):
        table.add_column(column, justify="left" if not table.columns else "right", no_wrap=True)
    table.add_row(
        f"{figures.hits:,} requests",
        f"{'' if visitors.is_exact else 'about '}{visitors.number:,}",
        f"{figures.error_share:.1%}",
        _milliseconds(figures.p95_ms),
        f"{seen.totals.bot_share:.1%}",
    )
    console.print(table)


def _table(title: str, counts: Counts) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column(title, no_wrap=True, min_width=LONGEST_LABEL, max_width=LONGEST_LABEL)
    for column in ("requests", "", "p95"):
        table.add_column(column, justify="right", no_wrap=True)
    for entry in counts.entries:
        figures = entry.figures
        table.add_row(entry.label, f"{figures.hits:,}", f"{entry.share:.1%}", _milliseconds(figures.p95_ms))
    return table


def _milliseconds(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f} ms" if value >= 10 else f"{value:.1f} ms"


def _clock(moment: datetime) -> str:
    return f"{timezone.localtime(moment):%H:%M}"
