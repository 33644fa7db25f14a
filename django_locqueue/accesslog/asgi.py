"""Sends the last hits when an ASGI server stops.

uvicorn ends a process by raising SIGTERM again with the default handler, so ``atexit`` never runs; the lifespan
protocol is the only word it gives. Django's own ASGI handler refuses that protocol, hence the wrapper.
"""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from django_locqueue.accesslog.recorder import recorder

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Any, Any, Any], Awaitable[None]]  # servers and frameworks type its arguments differently


class LifespanMiddleware:
    """``application = LifespanMiddleware(get_asgi_application())`` in asgi.py."""

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            await self.application(scope, receive, send)
            return
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await asyncio.to_thread(recorder.drain)
                await send({"type": "lifespan.shutdown.complete"})
                return
