"""Hears of users that are deleted, and has the log forget them."""

import logging
from typing import Any

from django.apps import apps
from django.contrib.auth import get_user_model
from django.db.models.signals import post_delete

from django_locqueue.accesslog import hit
from django_locqueue.accesslog.privacy import forgetting
from django_locqueue.accesslog.savepoints import savepoints

logger = logging.getLogger("django_locqueue.accesslog")


def connect() -> None:
    """Connect to the user model and its proxies, which send signals of their own."""
    user = get_user_model()
    for model in apps.get_models():
        if model is user or (model._meta.proxy and issubclass(model, user)):
            post_delete.connect(forget_deleted_user, sender=model, dispatch_uid="locqueue_accesslog")


def forget_deleted_user(instance: Any, **_: Any) -> None:
    """Forget the user's first requests at once, and have a task forget the rest, in the transaction that deletes.

    Whatever goes wrong, the user is deleted.
    """
    key = hit.user_id(instance.pk)
    if key is None:  # none that the log would hold
        return
    try:
        # Imported late: the tasks need TASKS.
        from django_locqueue.accesslog.housekeeping import forget_user

        with savepoints():
            forgetting.forget_batch(forgetting.rows_of_user(key))
            forget_user.enqueue(key)
    except Exception:
        logger.exception(
            "The access log was not told that user %s is deleted. Run: manage.py accesslog forget --user %s", key, key
        )
