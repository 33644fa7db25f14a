"""Who may do what: every address and every action, for everybody. Nobody changes anything by looking."""

from typing import Any

import pytest
from django.contrib import admin
from django.test import Client, RequestFactory

from django_locqueue.admin.pages import PAGES
from tests.pages.addresses import ACTIONS, ADDRESSES, NOBODY, unnamed
from tests.pages.conftest import every_permission, signed_in
from tests.pages.world import World, models_of_ours

pytestmark = [pytest.mark.django_db, pytest.mark.any_vendor]

LOOKED_AT = [name for name, address in ADDRESSES.items() if not address.changes]
CHANGING = [name for name, address in ADDRESSES.items() if address.changes]


def test_every_address_is_in_the_table() -> None:
    assert unnamed() == set()


def test_every_page_of_ours_stands_on_every_site() -> None:
    ours = {model for model in admin.site._registry if model._meta.app_label.startswith("locqueue")}
    assert ours == set(PAGES)  # with @page, not @admin.register


def rows() -> list[Any]:
    """Return all that a person could have changed."""
    return [list(model._default_manager.order_by("pk").values_list()) for model in models_of_ours()]


def one_of(needed: str | tuple[str, ...]) -> tuple[str, ...]:
    return (needed,) if isinstance(needed, str) else needed


def ask(client: Client, name: str, world: World) -> Any:
    address = ADDRESSES[name]
    url = address.url(name, world)
    return client.post(url, address.posted) if address.changes else client.get(url)


@pytest.mark.parametrize("name", ADDRESSES)
class TestAddresses:
    def test_a_stranger_is_sent_to_the_login(self, name: str, world: World) -> None:
        before = rows()
        assert "/login/" in ask(Client(), name, world).headers["Location"]
        assert rows() == before

    def test_its_own_permission_is_enough(self, name: str, world: World) -> None:
        address = ADDRESSES[name]
        before = rows()
        if address.needs == (NOBODY,):
            assert ask(signed_in(superuser=True), name, world).status_code == 403
            return
        response = ask(signed_in(*(one_of(needed)[0] for needed in address.needs)), name, world)
        leads_on = (address.changes and not address.only_shows) or address.redirects
        assert response.status_code == (302 if leads_on else 200)
        assert (rows() != before) is address.changes

    def test_every_other_permission_is_not(self, name: str, world: World) -> None:
        before = rows()
        for needed in ADDRESSES[name].needs:
            others = every_permission().keys() - set(one_of(needed))
            assert ask(signed_in(*others), name, world).status_code == 403
        assert rows() == before


@pytest.mark.parametrize("name", CHANGING)
def test_an_address_that_changes_something_is_not_looked_at(name: str, world: World, root: Client) -> None:
    before = rows()
    assert root.get(ADDRESSES[name].url(name, world)).status_code == 405
    assert rows() == before


@pytest.mark.parametrize("name", LOOKED_AT)
def test_an_address_that_is_looked_at_changes_nothing(name: str, world: World, root: Client) -> None:
    before = rows()
    root.get(ADDRESSES[name].url(name, world))
    if not ADDRESSES[name].also_posted:
        root.post(ADDRESSES[name].url(name, world), {"confirmed": "yes", "post": "yes", "_save": "1"})
    assert rows() == before


def actions() -> dict[tuple[str, str], str]:
    """Return the addresses of the lists by model and action, over all tabs."""
    found = {}
    for model in PAGES:
        model_admin = admin.site.get_model_admin(model)
        for tab in getattr(model_admin, "tabs", [None]):
            query = f"?tab={tab.name}" if tab else ""
            request: Any = RequestFactory().get(f"/{query}")
            request.user = Everybody()
            for action in model_admin.get_actions(request):
                found[model._meta.label_lower, action] = f"/admin/{model._meta.label_lower.replace('.', '/')}/{query}"
    return found


class Everybody:
    """Has every permission, without a database."""

    is_active = is_staff = is_superuser = True

    def has_perm(self, permission: str, obj: Any = None) -> bool:
        return True

    def has_perms(self, permissions: Any, obj: Any = None) -> bool:
        return True


def test_every_action_is_in_the_table() -> None:
    assert {action for _model, action in actions()} == set(ACTIONS)


@pytest.mark.parametrize(
    ("found", "url"), actions().items(), ids=lambda value: ".".join(value)[-60:] if isinstance(value, tuple) else ""
)
def test_an_action_asks_for_its_permission(found: tuple[str, str], url: str, world: World) -> None:
    label, action = found
    model = next(model for model in PAGES if model._meta.label_lower == label)
    ticked = list(model._default_manager.values_list("pk", flat=True))
    posted = {"action": action, "_selected_action": ticked, "index": 0, "confirmed": "yes", "post": "yes"}
    needed = ACTIONS[action].format(app=model._meta.app_label, model=model._meta.model_name)
    before = rows()
    signed_in(*every_permission().keys() - {needed}).post(url, posted)
    assert rows() == before
