"""People who look at the access log's pages, and a place that visitors come from."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils import translation

from django_locqueue.accesslog.models import Location
from tests.accesslog.pages.rows import located


@pytest.fixture
def person(db: None) -> Callable[..., Client]:
    """Return a function that logs a member of staff in, with the given permissions."""

    def make(*codenames: str) -> Client:
        user = get_user_model().objects.create(username="-".join(codenames) or "nobody", is_staff=True)
        # The queue has a permission of the same name.
        found = Permission.objects.exclude(content_type__app_label="locqueue", codename="export_data")
        for codename in codenames:
            user.user_permissions.add(found.get(codename=codename))
        client = Client()
        client.force_login(user)
        return client

    return make


@pytest.fixture
def viewer(person: Callable[..., Client]) -> Client:
    """A member of staff who may see the log, but not full addresses."""
    return person("view_accesslog")


@pytest.fixture
def place(db: None) -> Location:
    return located("49.65.250.0/24", country_code="CN", country="中国", province="江苏", city="南京", isp="电信")


@pytest.fixture(autouse=True)
def _english() -> Any:
    with translation.override("en"):  # LocaleMiddleware leaves its language to the next test
        yield
