from typing import ClassVar

from django.db import models


class Entry(models.Model):
    """What a task with database work inserts."""

    number = models.IntegerField()

    objects: ClassVar[models.Manager["Entry"]] = models.Manager()

    def __str__(self) -> str:
        return str(self.number)
