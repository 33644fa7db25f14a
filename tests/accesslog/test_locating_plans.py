"""What locating asks of its tables is found in an index, however many networks there are."""

import pytest
from django.db import connection
from django.utils import timezone

from django_locqueue.accesslog.asking import _Asking
from django_locqueue.accesslog.locating import _outdated
from django_locqueue.accesslog.models import AccessLog, Location
from django_locqueue.accesslog.networks import request_locations
from django_locqueue.accesslog.places import write_places
from tests.accesslog.services import Told, a_place
from tests.store.plans import plans

pytestmark = pytest.mark.django_db

SCANS = ("Seq Scan", "SCAN locqueue_accesslog")
SORTS = ("Sort", "USE TEMP B-TREE")


@pytest.fixture(params=["analysed", "analysed while all were outdated"])
def filled(request, configure):
    if connection.vendor == "mysql":
        pytest.skip("its EXPLAIN has no such words")
    configure(GEO={"PROVIDERS": ["reserved"]})
    then = "reserved" if request.param == "analysed" else "older"
    Location.objects.bulk_create(
        Location(pk=f"2.{n >> 8}.{n & 255}.0/24", state="located", data_version=then) for n in range(5000)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE locqueue_accesslog_location")
    Location.objects.update(data_version="reserved")


def cheap(plan):
    assert not any(word in plan for word in (*SCANS, *SORTS)), plan
    return True


@pytest.mark.parametrize("version", ["reserved", "a newer one", "z"])
def test_what_was_located_with_other_data_is_found_in_an_index(filled, version):
    found = plans(lambda: next(_outdated(version), None))
    assert found
    assert all(cheap(plan) and "locqueue_accesslog_data" in plan for plan in found)


def test_which_networks_are_to_be_located_is_asked_by_key(filled):
    wanted = [f"2.0.{n}.0/24" for n in range(20)] + ["9.9.9.0/24"]
    found = plans(lambda: request_locations(wanted, timezone.now()))
    assert len(found) == 3
    assert all(cheap(plan) for plan in found)


def test_places_are_written_by_key(filled):
    prefixes = [f"2.0.{n}.0/24" for n in range(20)]
    found = [plan for plan in plans(lambda: write_places(dict.fromkeys(prefixes, a_place()))) if "_location" in plan]
    assert found
    assert all(cheap(plan) for plan in found if "hour" not in plan.lower())


def test_a_visitor_of_a_network_is_found_in_its_index(filled, settings):
    settings.LOCQUEUE = {"ACCESS_LOG": {"GEO": {"SEND_TRUNCATED": False}}}
    AccessLog.objects.bulk_create(
        AccessLog(
            hit_id=str(n),
            time=timezone.now(),
            ip="49.65.250.1",
            location_id=f"2.{n >> 8}.{n & 255}.0/24",
            method="GET",
            path="/",
            status=200,
            duration_ms=1.0,
        )
        for n in range(5000)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE locqueue_accesslog_accesslog")
    asking = _Asking(Told(), None, [])
    [plan] = plans(lambda: asking._address("2.1.1.0/24"))
    assert cheap(plan)
