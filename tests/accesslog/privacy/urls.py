"""Paths with secrets in them."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path, register_converter
from django.urls.converters import StringConverter

from django_locqueue.accesslog import access_log


class Fold(StringConverter):
    def to_python(self, value: str) -> str:
        return value.lower()


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError


class Object(StringConverter):
    def to_python(self, value: str) -> Any:
        return Unprintable()


class Failing(StringConverter):
    def to_python(self, value: str) -> str:
        raise RuntimeError("database is down")


register_converter(Fold, "fold")
register_converter(Object, "object")
register_converter(Failing, "failing")


def page(request: HttpRequest, **kwargs: Any) -> HttpResponse:
    return HttpResponse("hello")


@access_log(sensitive=True)
def clinic(request: HttpRequest, **kwargs: Any) -> HttpResponse:
    return HttpResponse("hello")


urlpatterns = [
    path("clinic/<slug:ward>/", clinic),
    path("reset/<uidb64>/<token>/", page),
    path("confirm/<str:token>/now/", page),
    path("share/<uuid:key>/", page),
    path("folded/<fold:token>/", page),
    path("object/<object:token>/", page),
    path("failing/<failing:token>/", page),
    path("products/<slug:slug>/", page),
]
