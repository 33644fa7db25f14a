from django.db import models


class Entry(models.Model):
    """What a task with database work inserts."""

    number = models.IntegerField()

    class Meta:
        app_label = "benchmarks"

    def __str__(self) -> str:
        return str(self.number)
