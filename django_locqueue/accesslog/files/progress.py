"""How far a file is: a bar on a terminal, a line now and then elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

LINE_SECONDS = 5.0

Show = Callable[[int | None, str], None]  # bytes read, if that can be said, and a few words


@contextmanager
def progress(title: str, total: int | None, stream: TextIO) -> Iterator[Show]:
    """Give the ``with`` block a function that shows how far it is. ``total``: bytes, None if not known."""
    if stream.isatty():
        try:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
        except ImportError:
            pass
        else:
            words = TextColumn("{task.fields[words]}", markup=False)
            title_column = TextColumn("{task.description}", markup=False)
            with Progress(title_column, BarColumn(), words, TimeElapsedColumn(), console=Console(file=stream)) as bar:
                row = bar.add_task(title, total=total, words="")
                yield lambda position, words: bar.update(row, completed=position, words=words)
            return
    yield _in_lines(title, total, stream)


def _in_lines(title: str, total: int | None, stream: TextIO) -> Show:
    said_at = time.monotonic()

    def show(position: int | None, words: str) -> None:
        nonlocal said_at
        if time.monotonic() - said_at < LINE_SECONDS:
            return
        said_at = time.monotonic()
        share = f"{position / total:.0%}, " if total and position is not None else ""
        stream.write(f"{title}: {share}{words}\n")

    return show
