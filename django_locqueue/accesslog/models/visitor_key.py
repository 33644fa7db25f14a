"""The key of a day, with which its visitors are told apart."""

from django.db import models


class VisitorKey(models.Model):
    """Random, and deleted when the next day has ended. Kept out of admin: who has it can try out all addresses."""

    day = models.DateField(primary_key=True)  # in the site's time zone
    key = models.BinaryField(max_length=32)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.day}"
