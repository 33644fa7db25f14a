"""Who is let in."""

import pytest
from django.core import checks
from django.test import Client

from django_locqueue.checks import check_settings
from tests.monitoring.conftest import HEALTH, METRICS

pytestmark = [pytest.mark.django_db, pytest.mark.any_vendor]

VIEWS = ("health/", "status.json", "metrics/")


@pytest.mark.parametrize(
    ("token", "codes"),
    [(METRICS, [200, 200, 200]), (HEALTH, [200, 401, 401]), ("wrong-token-0123456789", [401] * 3), ("", [401] * 3)],
)
def test_each_token_opens_its_own(worker, ask, token, codes):
    assert [ask(view, token).status_code for view in VIEWS] == codes


@pytest.mark.parametrize("view", VIEWS)
def test_a_token_that_is_not_set_is_none(ask, view, settings):
    settings.LOCQUEUE = {**settings.LOCQUEUE, "MONITORING": {"HEALTH_TOKEN": "", "METRICS_TOKEN": ""}}
    assert ask(view, "").status_code == 401
    assert Client().get(f"/queue/{view}").status_code == 401


@pytest.mark.parametrize("header", [HEALTH, f"Basic {HEALTH}", "Bearer", "Bearer \xe9\xe9", f"Token {HEALTH}"])
def test_a_token_is_sent_as_a_bearer(header):
    answer = Client().get("/queue/health/", headers={"Authorization": header})
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"].startswith("Bearer")


def test_the_scheme_may_be_written_in_any_case(worker):
    assert Client().get("/queue/health/", headers={"Authorization": f"bearer {HEALTH}"}).status_code == 200


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(
    ("codenames", "fields", "code"),
    [
        (["view_task"], {}, 200),
        ([], {"is_superuser": True}, 200),
        ([], {}, 403),
        (["view_worker"], {}, 403),
        (["view_task"], {"staff": False}, 403),
    ],
)
def test_a_person_may_see_it_who_may_see_tasks_in_admin(worker, person, view, codenames, fields, code):
    assert person(*codenames, **fields).get(f"/queue/{view}").status_code == code


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_is_kept_on_the_way_and_nothing_is_changed(worker, ask, view):
    assert "no-store" in ask(view)["Cache-Control"]
    assert "no-store" in ask(view, "wrong")["Cache-Control"]
    assert Client().post(f"/queue/{view}").status_code == 405
    assert Client().head(f"/queue/{view}", headers={"Authorization": f"Bearer {METRICS}"}).status_code == 200


def test_a_probe_is_not_sent_to_the_login_page(worker, ask, settings):
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "django.contrib.auth.middleware.LoginRequiredMiddleware"]
    assert ask("health/").status_code == 200


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"HEALTH_TOKEN": "short"}, "E021"),
        ({"METRICS_TOKEN": "with a space in the middle"}, "E021"),
        ({"METRICS_TOKEN": None}, "E021"),
        ({"MAX_WAIT_SECONDS": -1}, "E020"),
        ({"MIN_WORKERS": "1"}, "E020"),
        ({"TOKEN": "x"}, "E012"),
    ],
)
def test_wrong_settings_are_told_with_a_cure(settings, given, problem):
    settings.LOCQUEUE = {"MONITORING": given}
    [found] = list(check_settings())
    assert (found.id, found.level) == (f"locqueue.{problem}", checks.ERROR)
    assert str(given.get("METRICS_TOKEN") or "nothing secret") not in found.msg
