"""Streamed answers that are measured to their end. The bodies go through as they are, chunk by chunk."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Protocol

from django.http.response import HttpResponseBase

SERVER_ERROR = 500
CLIENT_CLOSED_REQUEST = 499  # nginx's word for a client that went away

AsyncEnd = Callable[[int | None], Awaitable[None]]


class End(Protocol):
    def __call__(self, status: int | None, *, may_wait: bool = True) -> None: ...


def measure(response: HttpResponseBase | None, end: End, aend: AsyncEnd) -> None:
    """Have one of both called once, when the body has ended: ``aend`` on an event loop that can wait, else ``end``.

    They get None for a body that was sent, or the status of what happened instead. ``may_wait``: whether a database
    may be asked. They may not raise.
    """
    streamed: Any = response
    once = _Once(end, aend)
    if getattr(response, "file_to_stream", None) is not None:
        # Wrapped, a file would be read by Python; as it is, a server may leave it to the kernel. So nobody sees its
        # chunks, and whether all were sent is not known.
        streamed._resource_closers.append(lambda: once.end(None))
    elif streamed.is_async:
        streamed.streaming_content = _AsyncBody(streamed.streaming_content, once)
    else:
        streamed.streaming_content = _Body(streamed.streaming_content, once)


class _Once:
    """A body ends in several ways at a time: its iterator does, and the response is closed."""

    def __init__(self, end: End, aend: AsyncEnd) -> None:
        self._left = [(end, aend)]  # popped from, which of two threads only one can

    def end(self, status: int | None, *, may_wait: bool = True) -> None:
        if self._left:
            self._left.pop()[0](status, may_wait=may_wait)

    async def aend(self, status: int | None) -> None:
        if self._left:
            await self._left.pop()[1](status)


class _Body:
    def __init__(self, chunks: Iterator[bytes], once: _Once) -> None:
        self._chunks = chunks
        self._once = once

    def __iter__(self) -> "_Body":
        return self

    def __next__(self) -> bytes:
        try:
            return next(self._chunks)
        except StopIteration:
            self._once.end(None)
            raise
        except BaseException:
            self._once.end(SERVER_ERROR)
            raise

    def close(self) -> None:
        """Called by the response, when the server closes that: after the body, or instead of its rest."""
        self._once.end(CLIENT_CLOSED_REQUEST)


class _AsyncBody:
    def __init__(self, chunks: AsyncIterator[bytes], once: _Once) -> None:
        self._chunks = chunks
        self._once = once

    def __aiter__(self) -> "_AsyncBody":
        return self

    async def __anext__(self) -> bytes:
        try:
            return await anext(self._chunks)
        except StopAsyncIteration:
            await self._once.aend(None)
            raise
        except (asyncio.CancelledError, GeneratorExit):
            self._once.end(CLIENT_CLOSED_REQUEST, may_wait=False)
            raise
        except BaseException:
            await self._once.aend(SERVER_ERROR)
            raise

    def close(self) -> None:
        """Called on a thread, as all that closes a response is."""
        self._once.end(CLIENT_CLOSED_REQUEST)
