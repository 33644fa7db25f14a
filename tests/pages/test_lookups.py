"""No address of a list tells what masking hides, or makes the database look at a whole table."""

from typing import Any

import pytest
from django.contrib.admin.views.main import ChangeList
from django.test import Client

from django_locqueue.admin.pages import PAGES
from tests.pages.addresses import ADDRESSES
from tests.pages.world import World

pytestmark = [pytest.mark.django_db, pytest.mark.any_vendor]

LISTS = {
    f"{model._meta.app_label}_{model._meta.model_name}_changelist": model
    for model in PAGES
    if f"{model._meta.app_label}_{model._meta.model_name}_changelist" in ADDRESSES
}


def conditions(model: Any) -> list[str]:
    """Return a condition on each column, and on what lies behind the foreign keys."""
    fields = [field for field in model._meta.concrete_fields if not field.primary_key]
    found = [f"{field.name}__startswith" for field in fields if not field.is_relation]
    return [*found, *(f"{field.name}__pk__regex" for field in fields if field.is_relation)]


@pytest.mark.parametrize("name", LISTS)
def test_no_column_is_asked_for_by_its_name(name: str, world: World, root: Client) -> None:
    url = ADDRESSES[name].url(name, world)
    asked = {condition: root.get(url, {condition: "h"}) for condition in conditions(LISTS[name])}
    # Refused, or not a list of admin's kind, which does not look at the address.
    told = [condition for condition, response in asked.items() if response.status_code == 200]
    assert [condition for condition in told if "cl" in (asked[condition].context or {})] == []


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("query", ["_facets=True", "all=", "o=1.-2.3", "p=999999", "p=x", "e=1", "q=" + "x" * 10_000])
def test_what_is_asked_for_besides_stays_bounded(name: str, query: str, world: World, root: Client) -> None:
    response = root.get(f"{ADDRESSES[name].url(name, world)}?{query}", follow=True)
    assert response.status_code in (200, 400)
    changelist = response.context.get("cl") if response.status_code == 200 and response.context else None
    if isinstance(changelist, ChangeList):
        assert len(list(changelist.result_list)) <= 200
        assert not changelist.add_facets
