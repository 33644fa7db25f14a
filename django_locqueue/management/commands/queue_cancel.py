"""``manage.py queue_cancel 48211 --reason "wrong month"``: what waits ends at once, what runs is stopped."""

from django_locqueue.management.change_command import ChangeCommand


class Command(ChangeCommand):
    help = "Cancels tasks. One that waits ends at once; one that runs is asked to stop, then interrupted."
    verb = "cancel"
    words = ("Cancel", "Cancelled", "had ended before, or never was")
