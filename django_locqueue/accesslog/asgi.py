"""Sends the last hits when an ASGI server stops.

uvicorn ends a process by raising SIGTERM again with the default handler, so ``atexit`` never runs; the lifespan
protocol is the only word it gives. Django's own ASGI handler refuses that protocol, hence the wrapper.
"""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from django_locqueue.accesslog.recorder import recorder

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Any, Any, Any], Awaitable[None]]  # servers and frameworks type its arguments differently


class LifespanMiddleware:
    """``application = LifespanMiddleware(get_asgi_application())`` in asgi.py.

    An application that has a lifespan of its own (of Starlette, say, with Django mounted in it) keeps it.
    """

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            await self.application(scope, receive, send)
            return
        has_begun = False

        async def note_and_receive() -> Message:
            nonlocal has_begun
            has_begun = True
            return await receive()

        async def drain_and_send(message: Message) -> None:
            # After the application's own end, which may take requests of its own, and before the server's.
            if message["type"].startswith("lifespan.shutdown."):
                await asyncio.to_thread(recorder.drain)
            await send(message)

        try:
            await self.application(scope, note_and_receive, drain_and_send)
        except Exception:  # Django's way to refuse the protocol
            if has_begun:
                raise
        if not has_begun:
            await _live(receive, drain_and_send)


async def _live(receive: Receive, send: Send) -> None:
    """Be an application that has nothing to begin and nothing to end."""
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
