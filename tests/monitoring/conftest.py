"""Whoever asks: a program with a token, or a person."""

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from django_locqueue.models import Worker
from django_locqueue.store import store_for

HEALTH, METRICS = "health-token-0123456789", "metrics-token-0123456789"


@pytest.fixture(autouse=True)
def monitored(settings):
    settings.ROOT_URLCONF = "tests.monitoring.urls"
    settings.LOCQUEUE = {
        **settings.LOCQUEUE,
        "MONITORING": {"HEALTH_TOKEN": HEALTH, "METRICS_TOKEN": METRICS},
        "ADMIN": {"COUNTS_SECONDS": 0},
    }


@pytest.fixture
def now(db):
    return store_for("default").now()


@pytest.fixture
def worker(now):
    return Worker.objects.create(name="web-1:1", threads=4, lease_until=now.replace(year=now.year + 1))


@pytest.fixture
def ask():
    """Return a function that asks for a page with a token."""

    def get(path, token=METRICS, **headers):
        return Client().get(f"/queue/{path}", headers={"Authorization": f"Bearer {token}", **headers})

    return get


@pytest.fixture
def person(db):
    def make(*codenames, staff=True, **fields):
        user = User.objects.create(username="alice", is_staff=staff, **fields)
        user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
        client = Client()
        client.force_login(user)
        return client

    return make
