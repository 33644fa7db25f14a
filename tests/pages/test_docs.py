"""docs/admin.md names what there is."""

import re
from pathlib import Path

import pytest
from django.apps import apps

from django_locqueue import conf
from tests.pages.world import APPS

PAGE = (Path(__file__).parents[2] / "docs" / "admin.md").read_text()


def codenames() -> list[str]:
    found = []
    for model in (model for label in APPS for model in apps.get_app_config(label).get_models()):
        meta = model._meta
        found += [f"{action}_{meta.model_name}" for action in meta.default_permissions]
        found += [codename for codename, _name in meta.permissions]
    return found


@pytest.mark.parametrize("codename", codenames())
def test_every_permission_is_in_the_table(codename: str) -> None:
    table = PAGE.partition("## Permissions")[2].partition("## Read-only")[0]
    assert re.search(rf"`(\w+\.)?{codename}`", table)


@pytest.mark.parametrize(("key", "default"), conf.admin.defaults.items())
def test_every_setting_is_in_the_table(key: str, default: object) -> None:
    shown = f'"{default}"' if isinstance(default, str) else str(default)
    assert f"| `{key}` | `{shown}` |" in PAGE
