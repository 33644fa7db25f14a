"""A list as a file for other programs."""

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from django_locqueue.admin import task_files
from django_locqueue.models import Task
from tests.admin.conftest import list_url

pytestmark = pytest.mark.any_vendor


def rows_of(client: Client, name: str, query: str = "") -> list[dict[str, str]]:
    response = client.get(list_url(name, f"export/{query}"))
    assert response.status_code == 200
    body = b"".join(response.streaming_content).decode()  # type: ignore[attr-defined]
    return list(csv.DictReader(io.StringIO(body.removeprefix("\ufeff"))))


def test_the_file_has_what_the_list_has(root: Client, make_task: Callable[..., Task]) -> None:
    make_task("failed", queue_name="mail")
    meant = [make_task("failed").pk for _ in range(3)]
    assert [int(row["id"]) for row in rows_of(root, "failedtask", "?queue=default")] == meant[::-1]


def test_the_file_is_read_page_by_page(root: Client, make_task: Callable[..., Task], monkeypatch: Any) -> None:
    monkeypatch.setattr(task_files, "PAGE", 2)
    made = [make_task("ready", priority=number % 3).pk for number in range(7)]
    assert sorted(int(row["id"]) for row in rows_of(root, "pendingtask")) == made


def test_the_file_ends_at_its_largest_size(root: Client, make_task: Callable[..., Task], monkeypatch: Any) -> None:
    monkeypatch.setattr(task_files, "MOST_ROWS", 3)
    monkeypatch.setattr(task_files, "PAGE", 2)
    for _ in range(5):
        make_task("failed")
    *rows, last = rows_of(root, "failedtask")
    assert (len(rows), last["id"]) == (3, "There are more: narrow the list to have the rest of them.")


def test_the_file_has_all_that_match_and_not_only_what_the_page_looks_at(
    root: Client, make_task: Callable[..., Task], monkeypatch: Any
) -> None:
    monkeypatch.setattr(task_files, "LOOK", 2)
    meant = [make_task("failed", queue_name="mail" if number % 3 else "new").pk for number in range(9)][::3]
    assert [int(row["id"]) for row in rows_of(root, "failedtask", "?queue=new")] == meant[::-1]
    monkeypatch.setattr(task_files, "MOST_LOOKS", 2)
    assert [row["id"] for row in rows_of(root, "failedtask", "?queue=new")][1:] == [
        "There are more: narrow the list to have the rest of them."
    ]


def test_what_the_page_masks_is_masked_in_the_files(root: Client, make_task: Callable[..., Task]) -> None:
    call = {"args": [], "kwargs": {"password": "hunter2"}}
    make_task("failed", args_kwargs=call, error_message="password=hunter2")
    assert "hunter2" not in str(rows_of(root, "failedtask"))
    assert "hunter2" not in root.get(list_url("failedtask", "data.json")).content.decode()


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1"])
def test_no_cell_is_a_formula(text: str, root: Client, make_task: Callable[..., Task]) -> None:
    make_task("failed", error_class=text, error_message=text, task_path=text, worker_ids=text)
    (row,) = rows_of(root, "failedtask")
    assert not [cell for cell in row.values() if cell.startswith(task_files.FORMULAS)]


def test_the_file_has_a_name_that_nobody_else_chooses(root: Client, one_of_each: Any) -> None:
    response = root.get(list_url("failedtask", "export/?queue=x%0d%0ay"))
    assert response["Content-Disposition"] == 'attachment; filename="tasks-failed.csv"'


def test_the_file_is_for_those_who_may_export(person: Callable[..., Client], one_of_each: Any) -> None:
    viewer, exporter = person("view_task"), person("view_task", "export_data")
    assert viewer.get(list_url("failedtask", "export/")).status_code == 403
    assert exporter.get(list_url("failedtask", "export/")).status_code == 200
    assert "export/" not in viewer.get(list_url("failedtask")).content.decode()
    assert "export/" in exporter.get(list_url("failedtask")).content.decode()
    assert person("export_data").get(list_url("failedtask", "export/")).status_code == 403


def test_json_has_a_page_of_the_list_and_says_where_it_goes_on(
    person: Callable[..., Client], make_task: Callable[..., Task]
) -> None:
    for number in range(60):
        make_task("ready", queue_name="mail", task_path=f"shop.tasks.t{number}")
    client = person("view_task")
    found = json.loads(client.get(list_url("task", "data.json?queue=mail")).content)
    assert len(found["tasks"]) == 50
    assert set(found["tasks"][0]) == set(task_files.FIELDS)
    rest = json.loads(client.get(list_url("task", f"data.json{found['next']}")).content)
    assert [task["task"] for task in rest["tasks"]] == [f"shop.tasks.t{number}" for number in range(9, -1, -1)]
    assert rest["next"] is None


def test_json_is_for_those_who_may_look(person: Callable[..., Client]) -> None:
    assert person().get(list_url("task", "data.json")).status_code == 403


@pytest.mark.parametrize("path", ["export/", "data.json"])
def test_a_bad_filter_is_refused(path: str, root: Client, one_of_each: Any) -> None:
    for query in ("?state=x", "?since=yesterday", "?args_kwargs__contains=x"):
        assert root.get(list_url("task", path + query)).status_code == 400
