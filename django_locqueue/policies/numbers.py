"""Whether what user code gave is a number that is meant as one: ``True`` is none, and nan is not between any two."""

from typing import Any


def is_number(value: Any, least: float, most: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most


def is_whole(value: Any, least: int, most: int) -> bool:
    return isinstance(value, int) and is_number(value, least, most)
