"""E3: a bulk operation is stored, done and shown on the queue's alias, and the person's permissions are asked for where
users are."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from django_locqueue.models import Activity, BulkOperation, Task
from django_locqueue.worker.bulk import BulkWork
from tests.admin.conftest import list_url
from tests.admin.test_bulk import RETRY, ask
from tests.running import our_backend

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "second"])


def test_a_bulk_operation_is_where_the_queue_is(project, traffic, monkeypatch):
    monkeypatch.setattr("django_locqueue.worker.bulk.close_connections", lambda: None)
    ended = {"state": "failed", "finished_at": timezone.now() - timedelta(minutes=1)}
    Task.objects.create(task_path="shop.tasks.send", args_kwargs={"args": [], "kwargs": {}}, **ended)
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    ask(client, RETRY)
    work = BulkWork(our_backend().store)
    work.look()
    while work.run_once() == 0:
        pass
    operation = BulkOperation.objects.get()
    assert (operation.state, operation.changed) == ("done", 1)
    assert client.get(list_url("bulkoperation")).status_code == 200
    assert Activity.objects.count() == 2
    assert traffic.goes_only_to(project)
