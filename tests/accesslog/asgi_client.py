"""A client of Django's ASGI handler that may go away in the midst of an answer."""

import asyncio
from typing import Any

from django.core.handlers.asgi import ASGIHandler


async def visit(path: str, *, method: str = "GET", leave_after: int | None = None) -> list[bytes]:
    """Return the chunks of the answer's body. ``leave_after``: the number of chunks after which the client is gone."""
    chunks: list[bytes] = []
    gone = asyncio.Event()
    messages = iter([{"type": "http.request", "body": b"", "more_body": False}])

    async def receive() -> Any:
        for message in messages:
            return message
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message.get("body"):
            chunks.append(message["body"])
        if leave_after is not None and len(chunks) >= leave_after:
            gone.set()

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "headers": [(b"host", b"testserver")],
        "client": ("127.0.0.1", 40_000),
        "server": ("testserver", 80),
    }
    await ASGIHandler()(scope, receive, send)
    return chunks
