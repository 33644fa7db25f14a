"""What the access log adds to a request.

    python -m benchmarks.middleware [requests]

Handlers of the same plain view in one process, without and with the middleware, called in turns so that the machine's
moods meet them alike. A third has a middleware that does nothing: what Django takes for any. Buffered mode; the thread
sends its batches to nowhere, which leaves what a request pays and what the thread takes from the same interpreter, but
no database.
"""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import django
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import path

from benchmarks.product import LOCQUEUE
from benchmarks.run import Reading, Run
from benchmarks.worker import ROOT

MIDDLEWARE = "django_locqueue.accesslog.middleware.AccessLogMiddleware"
IDLE = f"{__name__}.idle"
REQUESTS = 20_000
VISITORS = 250


def page(request: HttpRequest) -> HttpResponse:
    return HttpResponse("hello")


def idle(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    def answer(request: HttpRequest) -> HttpResponse:
        return get_response(request)

    return answer


urlpatterns = [path("page/", page, name="page")]


def readings(run: Run) -> Iterator[Reading]:
    """In a process with settings of its own."""
    if run.product is not LOCQUEUE:
        return
    command = [sys.executable, "-m", "benchmarks.middleware", str(run.scale.requests), "--json"]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    for name, value in json.loads(done.stdout).items():
        yield Reading("middleware", name, "µs/request", value)


def configure() -> None:
    settings.configure(
        SECRET_KEY="for the benchmark only",  # noqa: S106
        ALLOWED_HOSTS=["*"],
        ROOT_URLCONF=__name__,
        INSTALLED_APPS=[
            "django.contrib.auth",
            "django.contrib.contenttypes",
            "django_locqueue",
            "django_locqueue.accesslog",
        ],
        MIDDLEWARE=[],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    )
    django.setup()


def handler(middleware: list[str]) -> Any:
    from django.core.handlers.wsgi import WSGIHandler

    settings.MIDDLEWARE = middleware
    return WSGIHandler()


def environ(number: int) -> dict[str, Any]:
    from django.test import RequestFactory

    headers = {
        "user-agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/126.0 Safari/537.36",
        "referer": "https://example.com/somewhere",
    }
    client = f"49.65.{number % 4}.{number % VISITORS}"
    return RequestFactory().get("/page/?a=1", headers=headers, REMOTE_ADDR=client).environ


def microseconds(answer: Any, number: int) -> float:
    request = environ(number)
    started = time.perf_counter()
    response = answer(request, lambda status, headers: None)
    taken = time.perf_counter() - started
    response.close()
    return taken * 1e6


def percentile_99(times: list[float]) -> float:
    return statistics.quantiles(times, n=100)[98]


def measure(requests: int) -> dict[str, list[float]]:
    """Return the microseconds of each request, by what it passed through."""
    from django_locqueue.accesslog.recorder import recorder

    recorder._send = lambda hits: None
    handlers = {"without": handler([]), "idle": handler([IDLE]), "with": handler([MIDDLEWARE])}
    times: dict[str, list[float]] = {name: [] for name in handlers}
    for number in range(requests + 500):
        for name, answer in handlers.items():
            taken = microseconds(answer, number)
            if number >= 500:  # the first ones fill caches
                times[name].append(taken)
    recorder.stop()
    return times


def main() -> None:
    numbers = [int(argument) for argument in sys.argv[1:] if argument.isdecimal()]
    requests = numbers[0] if numbers else REQUESTS
    configure()
    times = measure(requests)
    median = {name: statistics.median(taken) for name, taken in times.items()}
    added, ours = median["with"] - median["without"], median["with"] - median["idle"]
    if "--json" in sys.argv:
        told = {"a request without it": median["without"], "added": added, "more than one that does nothing": ours}
        sys.stdout.write(json.dumps(told))
        return
    lines = [
        f"{requests} requests each; Python {sys.version.split()[0]}, Django {django.__version__}",
        f"{'':10}{'median':>12}{'p99':>12}",
        *(f"{name:10}{median[name]:9.1f} us{percentile_99(taken):9.1f} us" for name, taken in times.items()),
        f"{'added':10}{added:9.1f} us",
        f"{'by us':10}{ours:9.1f} us",
    ]
    sys.stdout.write("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
