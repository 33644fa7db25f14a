"""A visitor's browser: one connection, a few cookies, and a note of every request that was answered."""

import http.client
import re
import time
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from urllib.parse import urlencode

TIMEOUT_SECONDS = 60
_token = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


@dataclass(frozen=True)
class Visitor:
    """Who asks: what the proxy in front of the shop says about them."""

    address: str
    agent: str


@dataclass(frozen=True)
class Exchange:
    """A request that was sent, and the status that came back; 0 if none came."""

    address: str
    method: str
    path: str  # as in the request line
    status: int
    seconds: float


@dataclass
class Answer:
    status: int
    location: str
    text: str

    @property
    def token(self) -> str:
        found = _token.search(self.text)
        return found[1] if found else ""


@dataclass
class Client:
    """Sends requests one after the other. Not for more than one thread at a time."""

    port: int
    exchanges: list[Exchange] = field(default_factory=list)
    _connection: http.client.HTTPConnection | None = None
    _cookies: dict[str, str] = field(default_factory=dict)

    def request(
        self,
        visitor: Visitor,
        path: str,
        *,
        method: str = "GET",
        form: dict[str, str] | None = None,
        referrer: str = "",
    ) -> Answer:
        """Send one request and note how it went. Redirects are not followed. Does not raise when no answer comes."""
        headers = {"X-Forwarded-For": visitor.address}
        if visitor.agent:
            headers["User-Agent"] = visitor.agent
        if referrer:
            headers["Referer"] = referrer
        if self._cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        body = None
        if form is not None:
            body = urlencode(form)
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        began = time.perf_counter()
        try:
            answer = self._send(method, path, body, headers)
        except (OSError, http.client.HTTPException):
            # Not sent again: nobody knows whether it arrived, and each must be recorded exactly once.
            self.close()
            answer = Answer(0, "", "")
        seconds = time.perf_counter() - began
        self.exchanges.append(Exchange(visitor.address, method, path, answer.status, seconds))
        return answer

    def forget(self) -> None:
        """Forget the cookies: the next visitor comes."""
        self._cookies.clear()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _send(self, method: str, path: str, body: str | None, headers: dict[str, str]) -> Answer:
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_SECONDS)
        self._connection.request(method, path, body, headers)
        response = self._connection.getresponse()
        text = response.read().decode(errors="replace")
        for header in response.headers.get_all("Set-Cookie", []):
            for name, morsel in SimpleCookie(header).items():
                self._cookies[name] = morsel.value
        return Answer(response.status, response.headers.get("Location", ""), text)
