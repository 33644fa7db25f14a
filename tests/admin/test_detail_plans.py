"""What the page of a task and Activity read comes from an index, in order."""

from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import RequestFactory

from django_locqueue.admin.change_forms import MOST_QUEUES, queue_choices
from django_locqueue.admin.related import of_kind
from django_locqueue.models import Activity, ErrorGroup, Queue
from django_locqueue.store import get_store
from tests.admin.test_cost import plan_of

pytestmark = pytest.mark.django_db


def is_sorted_by_index(plan: str) -> bool:
    return "Sort" not in plan and "TEMP B-TREE" not in plan


def test_others_of_a_kind_of_error_are_counted_in_its_index(make_task: Any) -> None:
    group = ErrorGroup.objects.create(fingerprint="f" * 40, error_class="OSError")
    make_task("failed", error_group=group)
    plan = plan_of(of_kind(group.pk).values("pk")[:10_001])
    assert "locqueue_task_error" in plan
    assert is_sorted_by_index(plan)


@pytest.mark.parametrize(("query", "index"), [("?q=alice", "locqueue_activity_user"), ("", ""), ("?verb=retry", "")])
def test_activity_is_read_in_the_order_of_an_index(query: str, index: str, db: None) -> None:
    get_store().record_activity("retry", by="alice", source="command")
    request = RequestFactory().get(f"/admin/{query}")
    request.user = User(is_superuser=True, is_active=True)
    found = admin.site.get_model_admin(Activity).get_changelist_instance(request)
    plan = plan_of(found.queryset[:51])
    assert index in plan
    assert is_sorted_by_index(plan)


def test_queues_to_choose_from_are_few_however_many_there_are(django_assert_num_queries: Any) -> None:
    Queue.objects.bulk_create(Queue(name=f"q{number}") for number in range(MOST_QUEUES + 50))
    with django_assert_num_queries(1):
        assert len(queue_choices()) <= MOST_QUEUES + 1
