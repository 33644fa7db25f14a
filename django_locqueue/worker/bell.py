"""Ends a wait from another thread or from a signal handler, also one for something that is read."""

import selectors
import socket
from contextlib import suppress
from typing import Any, Self


class Bell:
    """``ring`` takes no lock, so that a signal handler may call it. Outside the ``with`` block it does nothing."""

    def __init__(self) -> None:
        self._near: socket.socket | None = None
        self._far: socket.socket | None = None

    def __enter__(self) -> Self:
        self._near, self._far = socket.socketpair()
        self._far.setblocking(False)
        return self

    def __exit__(self, *error: object) -> None:
        for end in (self._near, self._far):
            if end is not None:
                end.close()

    def ring(self) -> None:
        if self._far is not None:
            with suppress(OSError):  # closed, or rung so often that it is full
                self._far.send(b"\0")

    def wait(self, seconds: float, *readable: Any) -> None:
        """Wait until it is rung, something can be read from one of ``readable``, or the time is over."""
        with selectors.DefaultSelector() as selector:
            for each in (self._near, *readable):
                if each is not None:
                    selector.register(each, selectors.EVENT_READ)
            for key, _ in selector.select(max(0.0, seconds)):
                if key.fileobj is self._near:
                    self._near.recv(4096)
