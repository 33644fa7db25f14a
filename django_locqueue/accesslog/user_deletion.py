"""Hears of users that are deleted, and has the log forget them."""

import logging
from typing import Any

from django.apps import apps
from django.contrib.auth import get_user_model
from django.db.models.signals import post_delete, pre_delete

from django_locqueue.accesslog import hit
from django_locqueue.accesslog.privacy import forgetting
from django_locqueue.accesslog.savepoints import savepoints

CHUNK = 1000  # users of one task
NOTED = "_locqueue_deleted_users"

logger = logging.getLogger("django_locqueue.accesslog")


def connect() -> None:
    """Connect to the user model and its proxies, which send signals of their own."""
    user = get_user_model()
    for model in apps.get_models():
        if model is user or (model._meta.proxy and issubclass(model, user)):
            pre_delete.connect(note_user, sender=model, dispatch_uid="locqueue_accesslog")
            post_delete.connect(forget_deleted_users, sender=model, dispatch_uid="locqueue_accesslog")


def note_user(instance: Any, origin: Any = None, **_: Any) -> None:
    """Note a user who is about to be deleted.

    Django tells of all that go together before it deletes the first. ``origin``: what ``delete()`` was called of.
    """
    key = hit.user_id(instance.pk)
    if key is not None:  # else none that the log would hold
        vars(instance if origin is None else origin).setdefault(NOTED, []).append(key)


def forget_deleted_users(instance: Any, origin: Any = None, **_: Any) -> None:
    """Forget the users' first requests at once, and have a task forget the rest, in the transaction that deletes.

    The first who is deleted does so for all, as thousands may be. Whatever goes wrong, they are deleted.
    """
    keys = vars(instance if origin is None else origin).pop(NOTED, None)
    if not keys:
        return
    try:
        # Imported late: the tasks need TASKS.
        from django_locqueue.accesslog.housekeeping import forget_users

        parts = [keys[start : start + CHUNK] for start in range(0, len(keys), CHUNK)]
        with savepoints():
            for part in parts:
                forgetting.forget_batch(forgetting.rows_of_users(part))
            forget_users.enqueue_many(((part,), {}) for part in parts)
    except Exception:
        logger.exception(
            "The access log was not told that users are deleted. Run for each of them: "
            "manage.py accesslog forget --user-id %s",
            ", ".join(map(str, keys)),
        )
