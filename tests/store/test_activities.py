"""What people change is written down."""

import pytest

from django_locqueue.models import Activity
from django_locqueue.store import get_store

pytestmark = pytest.mark.django_db


def test_an_activity_says_who_did_what_to_which_tasks_and_why():
    get_store().record_activity(
        "retry", by="alice", source="10.0.0.7", selection={"ids": [1, 2]}, matched=2, skipped=1, reason="SMTP is back"
    )
    activity = Activity.objects.get()
    assert (activity.user_name, activity.verb, activity.source) == ("alice", "retry", "10.0.0.7")
    assert (activity.selection, activity.matched, activity.changed, activity.skipped) == ({"ids": [1, 2]}, 2, 1, 1)
    assert activity.reason == "SMTP is back"


def test_texts_that_are_too_long_or_hold_nul_are_stored_all_the_same():
    get_store().record_activity("pause", by="a" * 400, source="x\x00", target="q" * 400, reason="r" * 400)
    activity = Activity.objects.get()
    assert [len(text) for text in (activity.user_name, activity.target, activity.reason)] == [150, 128, 200]
    assert activity.source == "x\\x00"
