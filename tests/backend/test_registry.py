"""Which entry of TASKS is ours is decided by its class, wherever it is asked."""

import pytest

from django_locqueue import compat, conf, registry
from django_locqueue.backend import LocQueueBackend
from django_locqueue.models import Task
from django_locqueue.models.fields import queue_database

OURS = "django_locqueue.backend.LocQueueBackend"


class ShopBackend(LocQueueBackend):
    """A project's own subclass, whose path says nothing of us."""


SUBCLASS = f"{__name__}.ShopBackend"


def lookalike(*args, **kwargs):
    """Its path holds our name, and it is no backend of ours: tests.backend.locqueue…"""


@pytest.mark.parametrize("path", [OURS, SUBCLASS])
def test_a_backend_is_ours_by_its_class(settings, path):
    settings.TASKS = {"default": {"BACKEND": path, "OPTIONS": {"DATABASE": "other"}}}
    assert queue_database(Task) == "other"


def test_the_first_of_ours_counts_and_not_the_first(settings):
    dummy = compat.BaseTaskBackend.__module__.replace(".base", ".dummy.DummyBackend")
    settings.TASKS = {
        "default": {"BACKEND": dummy, "OPTIONS": {"DATABASE": "wrong"}},
        "queue": {"BACKEND": SUBCLASS, "OPTIONS": {"DATABASE": "other"}},
        "second": {"BACKEND": OURS, "OPTIONS": {"DATABASE": "third"}},
    }
    assert queue_database(Task) == "other"
    assert queue_database(Task, "second") == "third"


@pytest.mark.parametrize("path", [f"{__name__}.lookalike_of_locqueue", f"{__name__}.lookalike", "", None, "no.such"])
def test_a_name_alone_makes_no_backend_ours(settings, path):
    settings.TASKS = {"default": {"BACKEND": path, "OPTIONS": {"DATABASE": "other"}}}
    assert conf.our_backends() == {}
    assert queue_database(Task) == "default"


def test_an_alias_that_is_gone_means_the_first_of_ours(settings):
    settings.TASKS = {"queue": {"BACKEND": OURS, "OPTIONS": {"DATABASE": "other"}}}
    assert queue_database(Task, "gone") == "other"
    assert registry.our_backend("gone") is None


def test_each_backend_has_its_own_limit_of_crashes(settings):
    settings.TASKS = {
        "default": {"BACKEND": OURS},
        "frail": {"BACKEND": SUBCLASS, "OPTIONS": {"MAX_CRASHES": 1}},
    }
    assert registry.crash_limits() == {"default": 3, "frail": 1}
