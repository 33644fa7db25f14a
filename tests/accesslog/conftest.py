"""Fixtures of the access log's tests. None of them lets a background thread near the test's database."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from django_locqueue.accesslog import middleware
from django_locqueue.accesslog.client_ip import Trust
from django_locqueue.accesslog.geo.provider import Answers
from django_locqueue.accesslog.geo.registry import make
from django_locqueue.accesslog.geo.result import IPAddress
from django_locqueue.accesslog.hit import Hit
from django_locqueue.accesslog.outbox import Counts
from django_locqueue.accesslog.privacy.policy import PrivacyPolicy
from django_locqueue.accesslog.raw_hit import Captured, RawHit
from django_locqueue.accesslog.recorder import Recorder
from django_locqueue.accesslog.visit import Visit
from tests.accesslog import services
from tests.accesslog.lookups import NANJING_ROWS
from tests.accesslog.replies import IN_NANJING, KEY
from tests.accesslog.server import Server
from tests.accesslog.stub_api import Reply, StubApi
from tests.accesslog.xdb_builder import build_xdb, built_on

try:
    import django.tasks  # noqa: F401

    IMMEDIATE = "django.tasks.backends.immediate.ImmediateBackend"
except ImportError:
    IMMEDIATE = "django_tasks.backends.immediate.ImmediateBackend"

MIDDLEWARE = [
    "django_locqueue.accesslog.middleware.AccessLogMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
]


class HitList(list[Hit]):
    """A recorder that keeps what it is given, cleaned."""

    def __init__(self) -> None:
        super().__init__()
        self.counts = Counts()

    def record(self, raw: Captured) -> None:
        self.append(RawHit._make(raw).clean())

    def record_now(self, raw: RawHit) -> None:
        self.append(raw.clean())

    async def arecord_now(self, raw: RawHit) -> None:
        self.append(raw.clean())

    def note_error(self) -> None:
        self.counts.errors += 1


@pytest.fixture
def site(settings: Any) -> Any:
    """Settings of a small site with the middleware first: the views of ``urls.py``."""
    settings.ROOT_URLCONF = "tests.accesslog.urls"
    settings.MIDDLEWARE = MIDDLEWARE
    settings.DEBUG_PROPAGATE_EXCEPTIONS = False
    settings.TASKS = {"default": {"BACKEND": IMMEDIATE}}
    settings.LOCQUEUE = {"ACCESS_LOG": {}}
    return settings


@pytest.fixture
def configure(site: Any) -> Callable[..., None]:
    """Return a function that sets keys of ``ACCESS_LOG``."""

    def set_keys(**keys: Any) -> None:
        site.LOCQUEUE = {"ACCESS_LOG": keys}

    return set_keys


@pytest.fixture
def hits(site: Any, monkeypatch: pytest.MonkeyPatch) -> HitList:
    """The hits that the middleware handed to the recorder."""
    kept = HitList()
    monkeypatch.setattr(middleware, "recorder", kept)
    return kept


@pytest.fixture
def stored(configure: Callable[..., None], monkeypatch: pytest.MonkeyPatch, db: None) -> Iterator[Callable[..., None]]:
    """Every request is stored before its response: direct mode, and tasks that run when they are enqueued.

    Returns ``configure`` with the mode set.
    """
    own = Recorder()
    monkeypatch.setattr(own, "_start_thread", lambda: None)
    monkeypatch.setattr(middleware, "recorder", own)
    configure(BACKEND="sync")
    yield lambda **keys: configure(BACKEND="sync", **keys)
    assert own.buffered == 0


@pytest.fixture
def fast_recorder(configure: Callable[..., None]) -> Iterator[Callable[..., Recorder]]:
    """Return a function that makes a recorder with a send function of the test's; its thread ends with the test."""
    configure(INTERVAL=0.01, EXIT_TIMEOUT=5)
    made: list[Recorder] = []

    def make(
        send: Callable[[list[Hit]], None], send_loss: Callable[..., None] = lambda **loss: None, **keys: Any
    ) -> Recorder:
        if keys:
            configure(**{"INTERVAL": 0.01, "EXIT_TIMEOUT": 5, **keys})
        made.append(Recorder(send, send_loss=send_loss))
        return made[-1]

    yield make
    for recorder in made:
        recorder._send = lambda batch: None
        recorder.stop()


@pytest.fixture
def data(tmp_path: Path) -> Callable[..., None]:
    """Return a function that puts other data in the place of the file ``x.xdb``: rows, and days after the first."""

    def replace(rows: list[tuple[str, str, str]], days: int = 0) -> None:
        build_xdb(tmp_path / "new.xdb", 2, 4, rows, built=built_on(days)).replace(tmp_path / "x.xdb")

    replace(NANJING_ROWS)
    return replace


@pytest.fixture
def xdb(tmp_path: Path, configure: Callable[..., None], data: Callable[..., None], settings: Any) -> None:
    """A queue of our own, and a chain with one file."""
    configure(GEO={"PROVIDERS": ["reserved", "xdb"], "XDB_V4": tmp_path / "x.xdb"})
    settings.TASKS = {"default": {"BACKEND": "django_locqueue.backend.LocQueueBackend"}}


@pytest.fixture
def chain(site: Any) -> Iterator[Callable[..., None]]:
    """Return a function that sets the providers and other keys of ``GEO``, with a queue of our own."""
    site.TASKS = {"default": {"BACKEND": "django_locqueue.backend.LocQueueBackend"}}
    services.asked.clear()
    services.answers.clear()

    def use(*providers: Any, **keys: Any) -> None:
        site.LOCQUEUE = {"ACCESS_LOG": {"GEO": {"PROVIDERS": list(providers), "MIN_INTERVAL": 60, **keys}}}

    yield use
    services.answers.clear()


@pytest.fixture
def ask(configure: Callable[..., None]) -> Callable[..., Answers]:
    """Return a function that asks a provider, whose service gives one reply; it returns the answers."""
    configure(GEO={"READ_TIMEOUT": 0.2})

    def send(name: str, reply: Reply, *addresses: IPAddress, **options: Any) -> Answers:
        with StubApi(reply) as api:
            provider = make({"provider": name, "key": KEY, "url": f"{api.url}/where", **options})
            return provider.lookup_many(addresses or [IN_NANJING])

    return send


@pytest.fixture
async def committed(transactional_db: None) -> AsyncIterator[None]:
    """The database for a test on an event loop, whose queries run in a thread with a connection of its own."""
    yield
    await sync_to_async(connections.close_all)()


def a_hit(path: str = "/", **fields: Any) -> Hit:
    """Return a hit with the given fields."""
    values: dict[str, Any] = {
        "id": "0" * 32,
        "time": 1_790_000_000.5,
        "ip": "49.65.250.135",
        "user_id": None,
        "method": "GET",
        "host": "example.com",
        "path": path,
        "action": "page",
        "route": "page/",
        "status": 200,
        "duration_ms": 1.5,
        "bytes": 12,
        "user_agent": "Mozilla/5.0",
        "referer": "",
        "streaming": False,
    }
    return Hit(**{**values, **fields})


def a_raw_hit(path: str = "/", **fields: Any) -> RawHit:
    """Return a raw hit with the given fields."""
    values: dict[str, Any] = {
        "answered": 1_790_000_000.5,
        "duration": 0.0015,
        "trust": Trust(),
        "remote": "49.65.250.135",
        "forwarded": "",
        "user_id": None,
        "method": "GET",
        "host": "example.com",
        "path": path,
        "action": "page",
        "route": "page/",
        "status": 200,
        "content_length": "12",
        "user_agent": "Mozilla/5.0",
        "referer": "",
        "streaming": False,
        "weight": 1.0,
        "sensitive": False,
        "policy": PrivacyPolicy(),
        "query": "",
        "secrets": (),
        "opted_out": False,
        "visit": Visit(),
    }
    return RawHit(**{**values, **fields})


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Return a function that starts a server: its arguments, the environment, and keys of ``ACCESS_LOG``."""
    started: list[Server] = []

    def start(arguments: tuple[str, ...], env: dict[str, str] | None = None, **keys: Any) -> Server:
        started.append(Server(arguments, {"TEST_ACCESS_LOG_KEYS": json.dumps(keys), **(env or {})}))
        return started[-1]

    yield start
    for server in started:
        server.end()
