"""Ids as people type them."""

LARGEST_ID = 2**63 - 1


def as_id(text: str) -> int | None:
    """Return the id that a person typed, with or without ``#``; None if it is none."""
    text = text.strip().removeprefix("#").replace(",", "")
    if not (text.isascii() and text.isdecimal() and len(text) < 20):
        return None
    number = int(text)
    return number if 0 < number <= LARGEST_ID else None
