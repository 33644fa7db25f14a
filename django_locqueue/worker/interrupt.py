"""Raise an exception in the middle of a call that runs on another thread."""

import ctypes
import time
from collections.abc import Callable
from threading import get_ident
from typing import Any


class Interruptible:
    """One call that may be interrupted once, from another thread.

    The exception comes between two instructions of Python: what is blocked in C code (``time.sleep``, a socket) gets
    it when that returns. It never comes outside of the call: not in the lines after it, nor in what the thread does
    next. If the call has returned just before, its value stands.
    """

    __slots__ = ("_idents", "_sent", "_undisturbed")

    def __init__(self) -> None:
        # Holds the thread's ident while the call runs. Both sides take it out, and only one of them gets it: `pop` is
        # one step. A lock would not do: the exception could come between taking it and entering its block.
        self._idents: list[int] = []
        self._sent = False
        self._undisturbed = False

    def call(self, work: Callable[[], Any]) -> Any:
        """Return what ``work`` returns, or raise what it raises or was interrupted with."""
        value, returned = None, False
        try:
            try:
                self._idents.append(get_ident())
                value = work()
                returned = True
            finally:
                self._close()
        except BaseException:
            if self._undisturbed:
                raise
            self._close()  # the first may have been cut short. It came, so nothing more comes
            if not returned:
                raise
        return value

    def interrupt(self, error: type[BaseException]) -> bool:
        """Raise ``error`` (a class: Python takes no instance) in the call. False: it has ended, or had its one."""
        try:
            ident = self._idents.pop()
        except IndexError:
            return False
        _set_async_exc(ctypes.c_ulong(ident), ctypes.py_object(error))
        self._sent = True
        return True

    @property
    def is_over(self) -> bool:
        """Whether it has ended or had its interruption; else it may still be about to begin."""
        return self._sent or self._undisturbed

    def _close(self) -> None:
        if self._undisturbed:
            return
        try:
            self._idents.pop()
            self._undisturbed = True
        except IndexError:
            while not self._sent:  # the other side is between its two lines
                time.sleep(0)
            _set_async_exc(ctypes.c_ulong(get_ident()), None)  # what has not been raised yet never is


_set_async_exc = ctypes.pythonapi.PyThreadState_SetAsyncExc
