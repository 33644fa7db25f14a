"""An item that a waiting task holds, so that no other task of the same key is enqueued for it."""

from django.db import models

from django_locqueue.models.database import QueueManager
from django_locqueue.models.fields import NameField
from django_locqueue.models.task import KEY_LENGTH, Task


class UniqueItem(models.Model):
    """One item of a list argument; gone when the task starts."""

    id = models.BigAutoField(primary_key=True)
    lock = NameField(max_length=KEY_LENGTH, unique=True)  # the unique key and the item
    task = models.ForeignKey(Task, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+")

    objects = QueueManager()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return str(self.lock)
