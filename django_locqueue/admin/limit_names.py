"""The name under which a person knows a limit."""

from django_locqueue.policies import legible, masking

PREFIX_LENGTH = 2  # r:, c:, k:


def name_of(key: str) -> str:
    return legible.line(masking.mask_text(key[PREFIX_LENGTH:]))
