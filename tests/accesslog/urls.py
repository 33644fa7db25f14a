"""A small site."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from enum import StrEnum
from http import HTTPStatus
from ipaddress import ip_address
from typing import Any

from django.contrib.auth import get_user_model, login
from django.core.exceptions import SuspiciousOperation
from django.http import FileResponse, HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import path, re_path
from django.utils.safestring import SafeString

CHUNKS = (b"first ", b"second ", b"third")


def page(request: HttpRequest, **kwargs: Any) -> HttpResponse:
    return HttpResponse("hello")


def who(request: HttpRequest) -> HttpResponse:
    return HttpResponse(str(request.user))


def sign_in(request: HttpRequest) -> HttpResponse:
    login(request, get_user_model().objects.get(), backend="django.contrib.auth.backends.ModelBackend")
    return HttpResponse("in")


def fails(request: HttpRequest) -> HttpResponse:
    raise RuntimeError("view")


def suspicious(request: HttpRequest) -> HttpResponse:
    raise SuspiciousOperation("view")


def leaves(request: HttpRequest) -> HttpResponse:
    raise SystemExit(3)


def saves(request: HttpRequest) -> HttpResponse:
    get_user_model().objects.create(username="saved")
    return HttpResponse("saved", status=201)


def stream(request: HttpRequest) -> StreamingHttpResponse:
    def chunks() -> Iterator[bytes]:
        yield from CHUNKS

    return StreamingHttpResponse(chunks())


def broken_stream(request: HttpRequest) -> StreamingHttpResponse:
    def chunks() -> Iterator[bytes]:
        yield CHUNKS[0]
        raise RuntimeError("half-way")

    return StreamingHttpResponse(chunks())


def file(request: HttpRequest) -> FileResponse:
    return FileResponse(open(__file__, "rb"))  # noqa: PTH123 - the response closes it


async def async_page(request: HttpRequest) -> HttpResponse:
    return HttpResponse("hello")


async def async_who(request: HttpRequest) -> HttpResponse:
    return HttpResponse(str(await request.auser()))


async def async_stream(request: HttpRequest) -> StreamingHttpResponse:
    async def chunks() -> AsyncIterator[bytes]:
        for chunk in CHUNKS:
            yield chunk

    return StreamingHttpResponse(chunks())


slow_began = asyncio.Event()


async def slow(request: HttpRequest) -> HttpResponse:
    slow_began.set()
    await asyncio.Event().wait()
    return HttpResponse("never")


class Section(StrEnum):
    NEWS = "news"


def odd(request: HttpRequest) -> HttpResponse:
    """Right for Django, and no plain int or str."""
    response = HttpResponse(SafeString("hello"))
    response.status_code = HTTPStatus.NOT_FOUND
    response["Content-Length"] = SafeString("5")
    request.META["REMOTE_ADDR"] = ip_address("49.65.250.135")
    return response


urlpatterns = [
    path("page/", page, name="page"),
    path("odd/", odd, name=Section.NEWS),
    path("orders/<int:number>/", page, name="order"),
    path("who/", who),
    path("sign-in/", sign_in),
    path("fails/", fails),
    path("suspicious/", suspicious),
    path("leaves/", leaves),
    path("saves/", saves),
    path("stream/", stream),
    path("broken-stream/", broken_stream),
    path("file/", file),
    path("async/", async_page),
    path("async-who/", async_who),
    path("async-stream/", async_stream),
    path("slow/", slow),
    re_path("^any/.*$", page),
]
