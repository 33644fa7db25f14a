"""The example of docs/accesslog.md runs as it stands."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.test import Client

from tests.accesslog.pages.rows import EXPORT, LIST, entry

DOCS = Path(__file__).parents[3].joinpath("docs/accesslog.md").read_text(encoding="utf-8")


@pytest.mark.django_db
def test_the_example_of_permissions_lets_analysts_read_and_export(person: Any) -> None:
    section = DOCS.partition("\n## Pages\n")[2].partition("\n## ")[0]
    [text] = re.findall(r"^```python\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    exec(compile(text, "docs/accesslog.md", "exec"), {})
    client: Client = person()
    get_user_model().objects.get(username="nobody").groups.add(Group.objects.get(name="analysts"))
    entry()
    assert client.get(LIST).status_code == client.get(EXPORT).status_code == 200
    assert "49.65.250.135" not in client.get(LIST).content.decode()
