"""A service on this machine that answers what a test tells it to, and remembers when it was asked what."""

import json
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Call:
    """One request. ``at``: the clock of ``time.monotonic()``, which all processes of a machine share."""

    at: float
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Reply:
    """``body``: bytes as they are, anything else as JSON. ``never_ends``: what is announced does not come."""

    body: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    never_ends: bool = False

    @property
    def encoded(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


Answer = Callable[[Call], Reply]


class StubApi:
    """Serves on a free port of loopback while it is entered. ``answer`` may be set to another function at any time.

    ``certificate``: a file with one and its key; with it, it serves HTTPS.
    """

    def __init__(self, answer: Answer | Reply, certificate: Path | None = None) -> None:
        self.answer: Answer = (lambda call: answer) if isinstance(answer, Reply) else answer
        self.calls: list[Call] = []
        self._closing = threading.Event()
        self._server = _Server(self)
        self._scheme = "http"
        if certificate is not None:
            self._scheme = "https"
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(certificate)
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_address[1]}"

    def wait_until_closed(self) -> None:
        self._closing.wait()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = False

    def __init__(self, api: StubApi) -> None:
        self.api = api
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, *_: object) -> None:
        """Nothing: a client that is tired of waiting closes its connection."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        api = self.server.api
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        call = Call(time.monotonic(), self.command, parts.path, query, dict(self.headers), body)
        api.calls.append(call)
        reply = api.answer(call)
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.encoded) + reply.never_ends))
        self.end_headers()
        self.wfile.write(reply.encoded)
        if reply.never_ends:
            self.wfile.flush()
            api.wait_until_closed()

    do_POST = do_GET  # noqa: N815 - the name that http.server looks for

    def log_message(self, *_: Any) -> None:
        """Nothing: the test has the calls."""
