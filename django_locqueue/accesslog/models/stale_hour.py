"""Which hours have to be counted again."""

from django.db import models


class StaleHour(models.Model):
    """Something in this hour changed since it was counted. Whoever changed it adds a row, in the same transaction.

    Rows are only added, and deleted by who counts: one row for an hour, to be updated, would make every batch of hits
    wait for the one before. And a row that is inserted only if it is not there would be lost to a count that has begun.
    """

    hour = models.DateTimeField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.hour:%Y-%m-%d %H}h"
