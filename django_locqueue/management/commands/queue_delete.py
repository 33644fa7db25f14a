"""``manage.py queue_delete --filter listing=failed task=shop.tasks.old_job``: they are gone, with what they left."""

from django_locqueue.management.change_command import ChangeCommand


class Command(ChangeCommand):
    help = "Deletes tasks that do not run, with their arguments, results and error history. This cannot be undone."
    verb = "delete"
    words = ("Delete", "Deleted", "ran at that moment, or never was")
