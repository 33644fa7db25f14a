"""A view says how its requests are recorded."""

from typing import Any, cast

import pytest
from asgiref.sync import iscoroutinefunction
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.views import View
from django.views.decorators.cache import never_cache

from django_locqueue.accesslog import access_log, middleware
from django_locqueue.accesslog.decorators import ATTRIBUTE, Marks
from django_locqueue.accesslog.raw_hit import RawHit
from tests.accesslog.conftest import HitList
from tests.accesslog.urls import page


def test_a_view_names_what_it_does(hits, configure):
    configure(ACTION=lambda request, response: "by the setting")
    for path in ("/secret/", "/page/"):
        Client().get(path)
    assert [hit.action for hit in hits] == ["view secret", "by the setting"]


def test_one_function_has_a_name_for_each_of_its_paths(hits):
    for path in ("/first/", "/second/", "/page/"):
        Client().get(path)
    assert [hit.action for hit in hits] == ["first", "second", "page"]


def test_classes_are_marked_by_their_dispatch_or_what_as_view_returns(hits):
    for path in ("/shop/", "/shop-window/"):
        Client().get(path)
    assert [hit.action for hit in hits] == ["shop", "shop window"]


def test_the_recorder_is_told_that_a_view_is_sensitive(hits, monkeypatch):
    seen = []

    class Seeing(HitList):
        def record(self, raw):
            seen.append(RawHit._make(raw).sensitive)

    monkeypatch.setattr(middleware, "recorder", Seeing())
    for path in ("/secret/", "/page/"):
        Client().get(path)
    assert seen == [True, False]


def test_marks_come_through_other_decorators_and_add_up():
    view = access_log(sensitive=True)(never_cache(access_log(action="a")(page)))
    assert getattr(view, ATTRIBUTE) == Marks("a", exclude=False, sensitive=True)


def test_what_is_decorated_stays_as_it_was():
    assert not hasattr(page, ATTRIBUTE)


def test_a_marked_view_is_async_if_it_was():
    async def view(request):
        return HttpResponse()

    assert iscoroutinefunction(access_log(action="a")(view))
    assert not iscoroutinefunction(access_log(action="a")(page))


def test_a_marked_view_gets_its_arguments():
    def view(request, number, *, name):
        return number, name

    assert access_log(action="a")(view)(RequestFactory().get("/"), 7, name="x") == (7, "x")


@pytest.mark.parametrize(
    ("decorate", "words"),
    [
        (lambda: access_log(), "needs one of"),
        (lambda: access_log(action=cast(Any, 7)), "must be a text, got 7"),
        (lambda: access_log(action="a")(type("Page", (View,), {})), r"Page\.as_view\(\)"),
    ],
)
def test_what_cannot_be_meant_is_refused(decorate, words):
    with pytest.raises(TypeError, match=words):
        decorate()
