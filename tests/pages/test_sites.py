"""On a site of the project's own, beside the default one, each page leads to the pages of the same site."""

import os
import subprocess
import sys

import pytest
from django.contrib.admin import AdminSite, ModelAdmin
from django.contrib.admin.exceptions import AlreadyRegistered
from django.test import Client, override_settings
from django.urls import path

from django_locqueue import conf
from django_locqueue.admin import TaskAdminMixin, register
from django_locqueue.admin.page_base import model_admin_base
from django_locqueue.admin.pages import PAGES
from django_locqueue.models import FailedTask
from tests import urls
from tests.pages.addresses import ADDRESSES
from tests.pages.crawling import crawl
from tests.pages.world import World

LEADING_ON = [name for name, address in ADDRESSES.items() if address.changes and not address.only_shows]

pytestmark = [pytest.mark.django_db, pytest.mark.any_vendor]


class OwnFailedTasks(TaskAdminMixin, ModelAdmin):
    tabs = PAGES[FailedTask].tabs
    list_display = ("task_column", "error_column")


ops, own = AdminSite(name="ops"), AdminSite(name="own")
register(ops)
register(own)
own.unregister(FailedTask)
own.register(FailedTask, OwnFailedTasks)
urlpatterns = [path("ops/", ops.urls), path("own/", own.urls), *urls.urlpatterns]


@override_settings(ROOT_URLCONF=__name__)
def test_no_page_leads_to_another_site(world: World, root: Client) -> None:
    shown = crawl(root, world, "ops")
    assert len(shown) > 60
    assert shown.refused == {}
    assert shown.left == {"/"}  # “View site”


@override_settings(ROOT_URLCONF=__name__)
@pytest.mark.parametrize("name", LEADING_ON)
def test_no_change_leads_to_another_site(name: str, world: World, root: Client) -> None:
    address = ADDRESSES[name]
    response = root.post(address.url(name, world, "ops"), address.posted)
    assert response.headers["Location"].startswith("/ops/")


def test_the_pages_are_put_on_a_site_once() -> None:
    assert set(ops._registry) == set(PAGES)
    with pytest.raises(AlreadyRegistered):
        register(ops)


@override_settings(ROOT_URLCONF=__name__)
def test_a_project_can_replace_a_page_by_its_own(world: World, root: Client) -> None:
    html = root.get("/own/locqueue/failedtask/").content.decode()
    assert f"/own/locqueue/task/{world.tasks['failed'].pk}/change/" in html
    assert "column-queue_column" not in html


def test_pages_are_made_of_the_class_that_the_setting_names() -> None:
    base = model_admin_base(conf.admin.MODEL_ADMIN_BASE)
    assert all(issubclass(page, base) for page in PAGES.values())


def test_every_page_works_in_another_theme() -> None:
    pytest.importorskip("unfold")
    tests = (
        "tests/pages/test_hostile_text.py::test_every_link_of_a_page_leads_to_a_page[address]",
        "tests/pages/test_sites.py::test_pages_are_made_of_the_class_that_the_setting_names",
    )
    # The theme may be behind the newest Django; what it is warned of is its own business.
    lenient = ("-W", "ignore::DeprecationWarning", "-W", "ignore::PendingDeprecationWarning")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        *lenient,
        "-p",
        "no:cacheprovider",
        "--ds",
        "tests.settings_unfold",
        *tests,
    ]
    ran = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env={**os.environ, "TEST_DATABASE": "sqlite"}
    )
    assert ran.returncode == 0, ran.stdout[-5000:]
