"""What a workflow's row knows of each of its steps."""

from typing import NamedTuple


class StoredStep(NamedTuple):
    """``label``: what a person reads. ``size``: tasks. ``runs_on_failure``: also when one before did not succeed.

    ``is_limited``: tasks of it wait under limits when its turn comes. ``forgets``: tasks of it are deleted when the
    workflow has succeeded.
    """

    label: str
    size: int
    runs_on_failure: bool = False
    is_limited: bool = False
    forgets: bool = False
