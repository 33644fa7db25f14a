"""What a workflow is made of: calls that are not enqueued yet, and steps of them, one after the other."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from asgiref.sync import sync_to_async

from django_locqueue.connections import after_commits

if TYPE_CHECKING:
    from django_locqueue.workflow_result import WorkflowResult

OnFailure = Literal["cancel", "run"]

MOST_STEPS = 1000  # their sizes are in one row, which is read at the end of each


class Startable:
    """What ``.then()`` goes on from, and what can be enqueued as a workflow."""

    def then(self, *following: "TaskCall | Chain", on_failure: OnFailure = "cancel") -> "Chain":
        """Return a chain in which ``following`` comes next, step by step.

        ``on_failure``: whether these steps are cancelled when a task before them has failed or was cancelled (the
        default), or run all the same (``"run"``). Raises ValueError without anything that follows.
        """
        if on_failure not in ("cancel", "run"):
            raise ValueError(f'on_failure must be "cancel" or "run", got {on_failure!r}.')
        if not following:
            raise ValueError("then() needs a call or a group that comes next, such as .then(report.call()).")
        added = _steps("then()", following)
        if on_failure == "run":
            added = [Step(step.calls, "run") for step in added]
        return Chain((*_steps("then()", [self]), *added))

    def enqueue(self) -> "WorkflowResult":
        """Store all tasks at once, in the caller's transaction if there is one, and return the workflow's result.

        Raises TypeError or ValueError for arguments that JSON cannot hold, and ``InvalidTask`` for a definition that
        cannot be part of it, before any SQL.
        """
        steps = _steps("enqueue()", [self])
        backend = steps[0].calls[0].definition.get_backend()
        if not hasattr(backend, "enqueue_workflow"):
            raise TypeError(f"TASKS[{backend.alias!r}] is {type(backend).__qualname__}, which has no workflows.")
        result: WorkflowResult = backend.enqueue_workflow(steps)
        return result

    async def aenqueue(self) -> "WorkflowResult":
        """Do what :meth:`enqueue` does."""
        return await sync_to_async(self.enqueue, thread_sensitive=True)()

    def enqueue_on_commit(self) -> None:
        """Enqueue when every transaction that is open in this thread has committed; at once if there is none."""
        after_commits(self.enqueue)


@dataclass(frozen=True, slots=True)
class TaskCall(Startable):
    """A definition with its arguments, to be part of a workflow: ``send_receipt.call(7)``."""

    definition: Any
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Step:
    """Calls that may run side by side. ``on_failure="run"``: also when a task before them did not succeed."""

    calls: tuple[TaskCall, ...]
    on_failure: OnFailure = "cancel"


@dataclass(frozen=True, slots=True)
class Chain(Startable):
    """Steps, each of which begins when the one before it has ended. Made by :func:`chain` and its like."""

    steps: tuple[Step, ...]

    def __post_init__(self) -> None:
        if len(self.steps) > MOST_STEPS:
            raise ValueError(f"A workflow has at most {MOST_STEPS:,} steps, got {len(self.steps):,}.")


def chain(*parts: TaskCall | Chain) -> Chain:
    """Return a workflow whose parts run one after the other: ``chain(fetch.call(7), resize.call(7))``.

    A part is a call, a group, or another chain. Raises TypeError for anything else, ValueError for no parts.
    """
    if not parts:
        raise ValueError("A chain needs at least one call, such as chain(fetch.call(7), resize.call(7)).")
    return Chain(tuple(_steps("chain()", parts)))


def group(*calls: TaskCall | Chain | Iterable[TaskCall]) -> Chain:
    """Return a workflow of one step, whose calls run side by side: ``group(mail.call(n) for n in numbers)``.

    Takes calls, or one iterable of them; a group within counts as its calls. Raises TypeError for anything else,
    ValueError for no calls.
    """
    given: Iterable[Any] = calls
    if len(calls) == 1 and isinstance(calls[0], Iterable):
        given = calls[0]
    members: list[TaskCall] = []
    for part in given:
        steps = _steps("group()", [part])
        if len(steps) > 1:
            raise TypeError(
                "A group holds calls, not chains: its tasks run side by side, and nothing within waits for another. "
                "Let a task enqueue the chain as a workflow of its own."
            )
        members += steps[0].calls
    if not members:
        raise ValueError("A group needs at least one call: of an empty one nobody would notice the end.")
    return Chain((Step(tuple(members)),))


def _steps(taker: str, parts: Iterable[Any]) -> list[Step]:
    found: list[Step] = []
    for number, part in enumerate(parts):
        match part:
            case TaskCall():
                found.append(Step((part,)))
            case Chain():
                found += part.steps
            case _:
                raise TypeError(
                    f"{taker} takes calls and groups of calls, such as send_receipt.call(7); "
                    f"got {repr(part)[:80]} at {number}."
                )
    return found
