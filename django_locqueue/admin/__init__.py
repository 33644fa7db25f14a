"""The pages in Django admin. Importing this package registers them, as admin's autodiscovery does."""

from django_locqueue.admin import bulk_operations, limits, queues, schedules, task_lists, task_page, workers, workflows

__all__ = ["bulk_operations", "limits", "queues", "schedules", "task_lists", "task_page", "workers", "workflows"]
