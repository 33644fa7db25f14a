"""Requests that could not be logged."""

from django.db import models


class Loss(models.Model):
    """What a web process had to give up since it last said so, or a worker of a batch. There is a row only if there
    was something."""

    loss_id = models.CharField(max_length=32, unique=True, editable=False)  # a report that is stored twice adds nothing
    time = models.DateTimeField(db_index=True)
    dropped = models.PositiveBigIntegerField()  # the buffer was full
    refused = models.PositiveBigIntegerField()  # could not be stored
    errors = models.PositiveBigIntegerField()  # could not be read

    class Meta:
        default_permissions = ()  # no page of its own

    def __str__(self) -> str:
        return f"{self.time:%Y-%m-%d %H:%M}: {self.dropped + self.refused + self.errors}"
