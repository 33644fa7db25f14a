"""The pages in Django admin. Importing this package registers them, as admin's autodiscovery does.

For a project: :func:`register` puts them on a site of its own, and :class:`TaskAdminMixin` makes a list of tasks of
any ModelAdmin.
"""

from django_locqueue.admin import (  # noqa: F401 - each registers its page
    activities,
    bulk_operations,
    limits,
    overview,
    queues,
    schedules,
    task_lists,
    task_page,
    workers,
    workflows,
)
from django_locqueue.admin.pages import register
from django_locqueue.admin.task_base import TaskAdminMixin

__all__ = ["TaskAdminMixin", "register"]
