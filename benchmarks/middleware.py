"""What the access log adds to a request.

    python benchmarks/middleware.py [requests]

Two handlers of the same plain view in one process, with and without the middleware, called in turns so that the
machine's moods meet both alike. Buffered mode; the thread sends its batches to nowhere, which leaves what a request
pays and what the thread takes from the same interpreter, but no database.
"""

import statistics
import sys
import time
from typing import Any

import django
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import path

MIDDLEWARE = "django_locqueue.accesslog.middleware.AccessLogMiddleware"
REQUESTS = 20_000
VISITORS = 250


def page(request: HttpRequest) -> HttpResponse:
    return HttpResponse("hello")


urlpatterns = [path("page/", page, name="page")]

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


def main() -> None:
    django.setup()
    from django_locqueue.accesslog.recorder import recorder

    recorder._send = lambda hits: None
    requests = int(sys.argv[1]) if len(sys.argv) > 1 else REQUESTS
    handlers = {"without": handler([]), "with": handler([MIDDLEWARE])}
    times: dict[str, list[float]] = {name: [] for name in handlers}
    for number in range(requests + 500):
        for name, answer in handlers.items():
            taken = microseconds(answer, number)
            if number >= 500:  # the first ones fill caches
                times[name].append(taken)
    recorder.stop()

    added = statistics.median(times["with"]) - statistics.median(times["without"])
    lines = [
        f"{requests} requests each; Python {sys.version.split()[0]}, Django {django.__version__}",
        f"{'':10}{'median':>12}{'p99':>12}",
        *(f"{name:10}{statistics.median(t):9.1f} us{percentile_99(t):9.1f} us" for name, t in times.items()),
        f"{'added':10}{added:9.1f} us",
        f"sent {recorder.counts.sent}, dropped {recorder.counts.dropped}",
    ]
    sys.stdout.write("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
