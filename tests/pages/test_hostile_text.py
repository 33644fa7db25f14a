"""Whatever stands in a field, every page shows it as text, and no page shows a secret."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from django.test import override_settings
from django.utils import translation

from tests.pages.conftest import signed_in
from tests.pages.crawling import Shown, crawl
from tests.pages.reading import Page
from tests.pages.world import SECRET, World

pytestmark = [pytest.mark.django_db, pytest.mark.any_vendor]

MARKUP = '\u202e"><img src=x onerror=alert(1)></textarea></title><script>alert(1)</script>{{ 7|add:7 }}'
HOSTILE = {"markup": MARKUP, "address": f"javascript:alert(1)//{MARKUP}"}
LOCALES: dict[str, dict[str, Any]] = {"markup": {"USE_TZ": False, "LANGUAGE_CODE": "zh-hans"}}


@pytest.fixture(scope="module", params=HOSTILE)
def shown(request: Any, django_db_setup: None, django_db_blocker: Any) -> Iterator[Shown]:
    """Everything that there is to see in a hostile world, in English, and in Chinese with naive times."""
    kind = request.param
    with django_db_blocker.unblock(), transaction.atomic():
        world = World(HOSTILE[kind])
        with override_settings(**LOCALES.get(kind, {})):
            yield crawl(signed_in(superuser=True), world)
        transaction.set_rollback(True)
        translation.deactivate()


def test_every_link_of_a_page_leads_to_a_page(shown: Shown) -> None:
    assert len(shown) > 60
    assert shown.refused == {}


def test_no_page_runs_or_hides_what_somebody_wrote(shown: Shown) -> None:
    assert {url: found for url, html in shown.items() if (found := Page(html).faults)} == {}


def test_no_page_evaluates_what_somebody_wrote(shown: Shown) -> None:
    assert [url for url, html in shown.items() if "{{ 7|add:7 }}" not in html and ">14<" in html] == []


def test_no_page_shows_a_secret(shown: Shown) -> None:
    masked = {url: text for url, text in {**shown, **shown.files}.items() if not url.endswith("/show/")}
    assert [url for url, text in masked.items() if SECRET in text] == []
    assert any("••••••" in html for html in shown.values())
