"""How far it is: a bar on a terminal, a line now and then elsewhere."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

LINE_SECONDS = 5


class Meter:
    """Counts up to ``total``. Safe to use from several threads."""

    def __init__(self, console: Console, title: str, total: int) -> None:
        self.console = console
        self.title = title
        self.total = total
        self.done = 0
        self._lock = threading.Lock()
        self._began = self._said_at = time.monotonic()
        self._said: tuple[int, int] | None = None

    def advance(self) -> None:
        with self._lock:
            self.show(self.done + 1, self.total)

    def show(self, done: int, total: int) -> None:
        """Set where it stands."""
        self.done, self.total = done, total
        if time.monotonic() - self._said_at >= LINE_SECONDS:
            self.say()

    def say(self) -> None:
        if self._said == (self.done, self.total):
            return
        self._said = (self.done, self.total)
        self._said_at = time.monotonic()
        seconds = self._said_at - self._began
        self.console.print(f"{self.title:<10} {self.done:,} of {self.total:,}  {seconds:.0f} s", highlight=False)


class BarMeter(Meter):
    def __init__(self, console: Console, title: str, total: int, bar: Progress) -> None:
        super().__init__(console, title, total)
        self._bar = bar
        self._row = bar.add_task(title, total=total)

    def show(self, done: int, total: int) -> None:
        self.done, self.total = done, total
        self._bar.update(self._row, completed=done, total=total)

    def say(self) -> None:
        """The bar has said it."""


@contextmanager
def meter(console: Console, title: str, total: int) -> Iterator[Meter]:
    """Show the progress of what the ``with`` block does."""
    if not console.is_terminal:
        plain = Meter(console, title, total)
        yield plain
        plain.say()
        return
    columns = (TextColumn("{task.description:<10}"), BarColumn(40), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bar:
        yield BarMeter(console, title, total, bar)
