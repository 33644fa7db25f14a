"""Admin, and views that do one thing each."""

from collections.abc import Iterator

from django.contrib import admin
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.urls import path


def plain(request: HttpRequest) -> HttpResponse:
    return HttpResponse("plain")


async def plain_async(request: HttpRequest) -> HttpResponse:
    return HttpResponse("plain")


def broken(request: HttpRequest) -> HttpResponse:
    raise RuntimeError("this view always fails")


def streamed(request: HttpRequest) -> HttpResponseBase:
    def parts() -> Iterator[str]:
        yield "one "
        yield "two"

    return StreamingHttpResponse(parts())


urlpatterns = [
    path("admin/", admin.site.urls),
    path("plain/", plain, name="plain"),
    path("plain-async/", plain_async, name="plain-async"),
    path("broken/", broken, name="broken"),
    path("streamed/", streamed, name="streamed"),
]
