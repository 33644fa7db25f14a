"""Calls services whose answers are small, and not to be trusted.

No redirect is followed (it could lead to this machine, or to a file), certificates are verified, and an answer may
neither be long nor take long. It stands on urllib3, which keeps connections; proxies of the environment are not used.
"""

import logging
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass

from django_locqueue.accesslog.geo.errors import NotInstalled, Transient

try:
    import urllib3
except ImportError as error:
    raise NotInstalled("The package urllib3 is missing: no service can be asked for locations.", "http") from error

AT_ONCE = 16_384  # bytes


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """``headers``: their names are found in any case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class _OwnCalls(logging.Filter):
    """Keeps urllib3's debug lines about our calls out of the logs: they show the URL, and the URL may show the key."""

    def __init__(self) -> None:
        super().__init__()
        self.here = threading.local()

    def filter(self, record: logging.LogRecord) -> bool:
        return not getattr(self.here, "is_calling", False)


_own_calls = _OwnCalls()
logging.getLogger("urllib3.connectionpool").addFilter(_own_calls)


class HttpClient:
    """Connections to services. Used by many threads; a forked process makes its own.

    ``service``: what errors call it. ``connect_timeout``, ``read_timeout``: seconds; the body must come within the sum
    of the two. ``max_bytes``: what an answer may have.
    """

    def __init__(self, service: str, connect_timeout: float, read_timeout: float, max_bytes: int) -> None:
        self.service = service
        self.max_bytes = max_bytes
        self._total = connect_timeout + read_timeout
        self._timeout = urllib3.Timeout(connect=connect_timeout, read=read_timeout)
        self._pools: tuple[int, urllib3.PoolManager] | None = None

    def send(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None = None) -> HttpAnswer:
        """Return the answer, whatever its status. Raises :class:`Transient` if there is none, or it is too long.

        The error says nothing of the URL, nor does its cause: both could show a key.
        """
        _own_calls.here.is_calling = True
        try:
            answer = self._send(method, url, headers, body)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            answer = f"no answer ({type(error).__name__})"
        finally:
            _own_calls.here.is_calling = False
        if isinstance(answer, str):
            raise Transient(f"{self.service}: {answer}.")
        return answer

    def _send(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> HttpAnswer | str:
        """Return the answer, or why there is none."""
        response = self._manager().request(
            method,
            url,
            body=body,
            headers={"Accept-Encoding": "identity", **headers},  # what is not packed cannot unpack to gigabytes
            timeout=self._timeout,
            retries=False,  # trying again is the queue's business
            redirect=False,
            preload_content=False,
        )
        end = time.monotonic() + self._total
        received = bytearray()
        try:
            # read1, since read(n) waits for n bytes, however slowly they come.
            while chunk := response.read1(AT_ONCE, decode_content=False):
                received += chunk
                if len(received) > self.max_bytes:
                    return f"the answer has more than {self.max_bytes} bytes"
                if time.monotonic() > end:
                    return f"the answer takes longer than {self._total:g} s"
            return HttpAnswer(response.status, response.headers, bytes(received))
        finally:
            # A connection whose answer was not read to its end is of no use to the next call.
            response.close()
            response.release_conn()

    def _manager(self) -> urllib3.PoolManager:
        pools = self._pools
        if pools is None or pools[0] != os.getpid():  # a socket that two processes read gives each half an answer
            pools = self._pools = (os.getpid(), urllib3.PoolManager(maxsize=4, cert_reqs="CERT_REQUIRED"))
        return pools[1]
