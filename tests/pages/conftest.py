"""One world for all tests of a module, and people to look at it."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import transaction
from django.test import Client

from tests.pages.world import APPS, World

HARMLESS = "plain text"


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: Any) -> Iterator[World]:
    """All rows, made once: what a test does to them is undone after it, as it has the mark ``django_db``."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield World(HARMLESS)
        transaction.set_rollback(True)


def signed_in(*permissions: str, superuser: bool = False) -> Client:
    """Return the client of a new member of staff with these permissions: ``"locqueue.view_task"``."""
    user = User.objects.create(username=f"person-{User.objects.count()}", is_staff=True, is_superuser=superuser)
    user.user_permissions.set([every_permission()[name] for name in permissions])
    client = Client()
    client.force_login(user)
    return client


@cache
def every_permission() -> dict[str, Permission]:
    rows = Permission.objects.filter(content_type__app_label__in=APPS).select_related("content_type")
    return {f"{row.content_type.app_label}.{row.codename}": row for row in rows}


@pytest.fixture(scope="module")
def root(world: World) -> Client:
    return signed_in(superuser=True)
