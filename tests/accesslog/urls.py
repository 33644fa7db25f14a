"""A small site."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from enum import StrEnum
from http import HTTPStatus
from io import BytesIO
from ipaddress import ip_address
from typing import Any

from django.contrib.auth import get_user_model, login
from django.core.exceptions import SuspiciousOperation
from django.http import FileResponse, HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import path, re_path
from django.utils.decorators import method_decorator
from django.utils.safestring import SafeString
from django.views import View

from django_locqueue.accesslog import access_log

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


def ranged_file(request: HttpRequest) -> FileResponse:
    """Answer with a part, as a project does that knows ranges."""
    response = FileResponse(BytesIO(b"".join(CHUNKS)[6:13]), status=206)
    response["Content-Range"] = "bytes 6-12/18"
    return response


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


@access_log(action="view secret", sensitive=True)
def secret(request: HttpRequest) -> HttpResponse:
    return HttpResponse("secret")


@access_log(exclude=True)
async def async_unlogged(request: HttpRequest) -> HttpResponse:
    return HttpResponse("unlogged")


@method_decorator(access_log(action="shop"), name="dispatch")
class Shop(View):
    def get(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse("shop")


def opts_out(request: HttpRequest) -> HttpResponse:
    request.locqueue_log = False  # type: ignore[attr-defined]
    return HttpResponse("not logged")


async def endless(request: HttpRequest) -> StreamingHttpResponse:
    async def chunks() -> AsyncIterator[bytes]:
        yield CHUNKS[0]
        await asyncio.Event().wait()

    return StreamingHttpResponse(chunks())


async def async_broken_stream(request: HttpRequest) -> StreamingHttpResponse:
    async def chunks() -> AsyncIterator[bytes]:
        yield CHUNKS[0]
        raise RuntimeError("half-way")

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
    path("ranged-file/", ranged_file),
    path("async/", async_page),
    path("async-who/", async_who),
    path("async-stream/", async_stream),
    path("endless/", endless),
    path("async-broken-stream/", async_broken_stream),
    path("slow/", slow),
    path("secret/", secret, name="secret"),
    path("unlogged/", access_log(exclude=True)(page), name="unlogged"),
    path("async-unlogged/", async_unlogged),
    path("first/", access_log(action="first")(page), name="first"),
    path("second/", access_log(action="second")(page), name="second"),
    path("shop/", Shop.as_view(), name="shop"),
    path("shop-window/", access_log(action="shop window")(Shop.as_view()), name="shop-window"),
    path("opts-out/", opts_out),
    re_path("^any/.*$", page),
]
