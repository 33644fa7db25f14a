"""What the access log adds to a request.

Handlers of the same plain view in one process, without and with the middleware, called in turns so that the machine's
moods meet them alike: Django's handler for WSGI with a plain view, and its handler for ASGI with an async one. A third
has a middleware that does nothing: what Django takes for any; and a fourth django-request's, where that is installed,
which stores each request in the request, here in a SQLite file. Ours is in buffered mode; the thread sends its batches
to nowhere, which leaves what a request pays and what the thread takes from the same interpreter, but no database.
"""

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

import django
from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils.decorators import sync_and_async_middleware

from benchmarks.product import LOCQUEUE
from benchmarks.run import Reading, Run
from benchmarks.worker import ROOT

OURS = "django_locqueue.accesslog.middleware.AccessLogMiddleware"
IDLE = f"{__name__}.idle"
PEER = "request.middleware.RequestMiddleware"
HAS_PEER = find_spec("request") is not None
MIDDLEWARES = {"without": [], "idle": [IDLE], "ours": [OURS], **({"django-request": [PEER]} if HAS_PEER else {})}
PEER_SHARE = 20  # it takes milliseconds: it is asked as seldom as this
WARM_UP = 500  # requests that fill caches
VISITORS = 250
AGENT = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/126.0 Safari/537.36"
REFERRER = "https://example.com/somewhere"

Times = dict[str, list[float]]  # microseconds of each request, by what it passed through


def page(request: HttpRequest) -> HttpResponse:
    return HttpResponse("hello")


async def async_page(request: HttpRequest) -> HttpResponse:
    return HttpResponse("hello")


@sync_and_async_middleware
def idle(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    if iscoroutinefunction(get_response):

        async def aanswer(request: HttpRequest) -> Any:
            return await get_response(request)

        return aanswer

    def answer(request: HttpRequest) -> Any:
        return get_response(request)

    return answer


urlpatterns = [path("page/", page, name="page"), path("async-page/", async_page, name="async-page")]


def readings(run: Run) -> Iterator[Reading]:
    """In a process with settings of its own."""
    if run.product is not LOCQUEUE:
        return
    command = [sys.executable, "-m", "benchmarks.middleware", str(run.scale.requests)]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    for name, value in json.loads(done.stdout).items():
        yield Reading("middleware", name, "µs/request", value)


def configure(folder: Path) -> None:
    settings.configure(
        SECRET_KEY="for the benchmark only",  # noqa: S106
        ALLOWED_HOSTS=["*"],
        ROOT_URLCONF=__name__,
        INSTALLED_APPS=[
            "django.contrib.auth",
            "django.contrib.contenttypes",
            "django_locqueue",
            "django_locqueue.accesslog",
            *(["request"] if HAS_PEER else []),
        ],
        MIDDLEWARE=[],
        DATABASES={
            "default": {
                "ENGINE": "django.db.backends.sqlite3",
                "NAME": folder / "benchmark.sqlite3",
                "OPTIONS": {"init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL"},
            }
        },
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    )
    django.setup()
    if HAS_PEER:
        from django.core.management import call_command

        call_command("migrate", verbosity=0)


def handlers(make: Callable[[], Any]) -> dict[str, Any]:
    made = {}
    for name, middleware in MIDDLEWARES.items():
        settings.MIDDLEWARE = middleware
        made[name] = make()
    return made


def turns(requests: int, names: list[str]) -> Iterator[tuple[int, str]]:
    """Yield the number of each request, and what it passes through."""
    for number in range(requests + WARM_UP):
        for name in names:
            if name != "django-request" or number % PEER_SHARE == 0:
                yield number, name


def wsgi_times(requests: int) -> Times:
    from django.core.handlers.wsgi import WSGIHandler
    from django.test import RequestFactory

    made = handlers(WSGIHandler)
    times: Times = {name: [] for name in made}
    for number, name in turns(requests, list(made)):
        headers = {"user-agent": AGENT, "referer": REFERRER}
        environ = RequestFactory().get("/page/?a=1", headers=headers, REMOTE_ADDR=client(number)).environ
        answer = made[name]
        started = time.perf_counter()
        response = answer(environ, lambda status, headers: None)
        taken = time.perf_counter() - started
        response.close()
        if number >= WARM_UP:
            times[name].append(taken * 1e6)
    return times


async def asgi_times(requests: int) -> Times:
    """From the request's scope to its response. What a handler does around that goes through threads, and is noise."""
    from django.core.handlers.asgi import ASGIHandler, ASGIRequest

    made = handlers(ASGIHandler)
    times: Times = {name: [] for name in made}
    for number, name in turns(requests, list(made)):
        headers = [(b"host", b"testserver"), (b"user-agent", AGENT.encode()), (b"referer", REFERRER.encode())]
        scope = {
            "type": "http",
            "method": "GET",
            "path": "/async-page/",
            "query_string": b"a=1",
            "headers": headers,
            "client": (client(number), 40_000),
            "server": ("testserver", 80),
        }
        answer = made[name].get_response_async
        started = time.perf_counter()
        response = await answer(ASGIRequest(scope, BytesIO()))
        taken = time.perf_counter() - started
        response.close()
        if number >= WARM_UP:
            times[name].append(taken * 1e6)
    return times


def client(number: int) -> str:
    return f"49.65.{number % 4}.{number % VISITORS}"


def told(server: str, times: Times) -> dict[str, float]:
    median = {name: statistics.median(taken) for name, taken in times.items()}
    found = {
        f"{server}: a request without it": median["without"],
        f"{server}: added": median["ours"] - median["without"],
        f"{server}: more than one that does nothing": median["ours"] - median["idle"],
    }
    if HAS_PEER:
        found[f"{server}: added by django-request"] = median["django-request"] - median["without"]
    return found


def main() -> None:
    requests = int(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        configure(Path(folder))
        from django_locqueue.accesslog.recorder import recorder

        recorder._send = lambda hits: None
        recorder._keys = None  # nobody visits: no day has a key
        found = told("WSGI", wsgi_times(requests)) | told("ASGI", asyncio.run(asgi_times(requests)))
        recorder.stop()
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
