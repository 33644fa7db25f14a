"""What a request leaves, by the settings and by what it asks for."""

import pytest
from django.contrib.auth import get_user_model
from django.test import AsyncClient, Client

from django_locqueue.accesslog.models import AccessLog, Location
from django_locqueue.models import Task

GPC = {"HTTP_SEC_GPC": "1"}


@pytest.fixture(autouse=True)
def urls(site):
    site.ROOT_URLCONF = "tests.accesslog.privacy.urls"


def test_a_visitor_who_sends_gpc_is_nobody(hits):
    Client().get("/products/tea/", REMOTE_ADDR="49.65.250.135", HTTP_USER_AGENT="Mozilla/5.0", **GPC)
    assert (hits[0].ip, hits[0].user_agent, hits[0].visitor, hits[0].path) == (None, "", "", "/products/tea/")


async def test_on_an_event_loop_too(hits):
    await AsyncClient().get("/products/tea/", headers={"sec-gpc": "1", "user-agent": "Mozilla/5.0"})
    assert (hits[0].ip, hits[0].user_agent) == (None, "")


@pytest.mark.parametrize("value", ["0", "", "true", "1, 1", " 1"])
def test_only_the_exact_text_1_is_gpc(hits, value):
    Client().get("/products/tea/", REMOTE_ADDR="49.65.250.135", HTTP_SEC_GPC=value)
    assert hits[0].ip == "49.65.250.135"


def test_gpc_can_be_left_out_of_account(hits, configure):
    configure(RESPECT_GPC=False)
    Client().get("/products/tea/", REMOTE_ADDR="49.65.250.135", **GPC)
    assert hits[0].ip == "49.65.250.135"


@pytest.mark.parametrize(("respected", "ip"), [(False, "49.65.250.135"), (True, None)])
def test_dnt_counts_where_the_site_says_so(hits, configure, respected, ip):
    configure(RESPECT_DNT=respected)
    Client().get("/products/tea/", REMOTE_ADDR="49.65.250.135", HTTP_DNT="1")
    assert hits[0].ip == ip


@pytest.mark.django_db
def test_a_signed_in_visitor_who_sends_gpc_has_no_user(hits, configure):
    configure(USER="session")
    client = Client()
    client.force_login(get_user_model().objects.create(username="alice"))
    client.get("/products/tea/", **GPC)
    client.get("/products/tea/")
    assert [hit.user_id is None for hit in hits] == [True, False]


def test_of_a_visit_to_a_sensitive_view_it_is_known_only_that_there_was_one(hits, configure):
    configure(QUERY_PARAMS=["q"])
    Client().get("/clinic/oncology/?q=x", REMOTE_ADDR="49.65.250.135", HTTP_REFERER="https://a.example/b")
    hit = hits[0]
    assert (hit.path, hit.query, hit.referer, hit.ip) == ("/clinic/<slug:ward>/", "", "", None)


def test_the_path_is_masked(hits):
    Client().get("/confirm/9f86d081884c/now/")
    assert hits[0].path == "/confirm/***/now/"


def test_the_path_may_be_the_pattern(hits, configure):
    configure(PATH="route")
    Client().get("/products/tea/")
    Client().get("/nowhere/s3cret/")
    assert [hit.path for hit in hits] == ["/products/<slug:slug>/", "/***"]


def test_the_query_is_kept_as_far_as_it_is_allowed(hits, configure):
    configure(QUERY_PARAMS=["q"])
    Client().get("/products/tea/?q=green&token=9f86d081884c")
    assert (hits[0].query, hits[0].path) == ("q=green", "/products/tea/")


def test_nothing_of_a_query_is_held_where_nothing_may_be_kept(hits):
    Client().get("/products/tea/?q=green")
    assert hits[0].query == ""


@pytest.mark.django_db
@pytest.mark.parametrize(("ip_storage", "ip"), [("full", "49.65.250.135"), ("truncate", "49.65.250.0"), ("none", None)])
def test_a_row_holds_the_address_as_the_settings_say(stored, ip_storage, ip):
    stored(IP_STORAGE=ip_storage)
    Client().get("/products/tea/", REMOTE_ADDR="49.65.250.135")
    assert AccessLog.objects.get().ip == ip


@pytest.mark.django_db
@pytest.mark.parametrize("ip_storage", ["full", "truncate", "hash"])
def test_a_visit_is_located_however_its_address_is_kept(stored, ip_storage):
    stored(IP_STORAGE=ip_storage)
    Client().get("/products/tea/", REMOTE_ADDR="49.65.250.135")
    assert AccessLog.objects.get().prefix == Location.objects.get().prefix == "49.65.250.0/24"


@pytest.mark.django_db
def test_a_visit_of_nobody_is_stored_and_located_nowhere(stored):
    Client().get("/products/tea/", REMOTE_ADDR="49.65.250.135", HTTP_USER_AGENT="Mozilla/5.0", **GPC)
    row = AccessLog.objects.get()
    assert (row.ip, row.prefix, row.is_bot, row.user_agent) == (None, None, False, "")
    assert not Location.objects.exists()


@pytest.mark.django_db
def test_no_argument_of_a_task_holds_an_address_that_is_not_to_be_kept(stored, site):
    site.TASKS = {"default": {"BACKEND": "django_locqueue.backend.LocQueueBackend", "QUEUES": []}}
    stored(IP_STORAGE="hash")
    Client().get("/products/tea/", REMOTE_ADDR="49.65.250.135", HTTP_USER_AGENT="Mozilla/5.0")
    assert "49.65.250.135" not in str(Task.objects.get().args_kwargs)
