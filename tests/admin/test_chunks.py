"""What the page of a task says of chunks."""

from collections.abc import Callable

import pytest
from django.test import Client

from django_locqueue.models import Task
from django_locqueue.policies.terms import Terms
from tests.admin.conftest import task_url

pytestmark = pytest.mark.django_db


def page(client: Client, task: Task) -> str:
    return client.get(task_url(task)).content.decode()


def test_the_page_says_that_a_task_runs_in_chunks(root: Client, make_task: Callable[..., Task]) -> None:
    text = page(root, make_task("ready", terms=Terms(chunk=100, chunk_wait=0.5).dump()))
    assert "Runs in chunks" in text
    assert "100 tasks at most in one call; the first waits up to 0.5 s for others" in text


@pytest.mark.parametrize("terms", [None, Terms(expires=60).dump(), "[", "[]", '{"chunk": "many"}'])
def test_the_page_of_another_task_does_not(root: Client, make_task: Callable[..., Task], terms: str | None) -> None:
    assert "Runs in chunks" not in page(root, make_task("ready", terms=terms))
