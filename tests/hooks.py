"""Hooks for tests. Each appends what it sees to ``seen``, which a test empties first."""

import threading
from typing import Any

from asgiref.sync import iscoroutinefunction
from opentelemetry import trace

from django_locqueue import Cancel, Retry, Snooze, task

seen: list[Any] = []
made: list[str] = []


class Noting:
    """Has all three methods."""

    def __init__(self) -> None:
        made.append(type(self).__name__)

    def before_enqueue(self, call: Any) -> Any:
        seen.append(("before", type(self).__name__, list(call.args)))
        return call

    def after_claim(self, task: Any) -> None:
        seen.append(("claimed", type(self).__name__, task.id, task.attempt))

    def around_run(self, task: Any, run: Any) -> Any:
        seen.append(("enter", type(self).__name__))
        try:
            return run()
        finally:
            seen.append(("leave", type(self).__name__))


class NotingToo(Noting):
    """The same by another name."""


class NotingAsync:
    async def around_run(self, task: Any, run: Any) -> Any:
        seen.append(("enter", "NotingAsync"))
        value = await run()
        seen.append(("leave", "NotingAsync"))
        return value


class NotingBoth:
    async_capable = True

    def around_run(self, task: Any, run: Any) -> Any:
        if iscoroutinefunction(run):
            return self.awaited(run)
        seen.append(("called", "NotingBoth"))
        return run()

    async def awaited(self, run: Any) -> Any:
        seen.append(("awaited", "NotingBoth"))
        return await run()


class Change:
    """Changes all that a hook may change."""

    def before_enqueue(self, call: Any) -> Any:
        return call.changed(
            args=[value + 1 for value in call.args],
            queue_name="changed",
            priority=7,
            metadata={**call.metadata, "tenant": "acme"},
        )


class LargeToMail:
    def before_enqueue(self, call: Any) -> Any:
        return call.changed(queue_name="mail") if call.args[0] >= 1000 else call


class DropOdd:
    def before_enqueue(self, call: Any) -> Any:
        return None if call.args[0] % 2 else call


class Refuse:
    def before_enqueue(self, call: Any) -> Any:
        raise PermissionError("not at night")


class Wrong:
    def before_enqueue(self, call: Any) -> Any:
        return "yes"


class WrongQueue:
    def before_enqueue(self, call: Any) -> Any:
        return call.changed(queue_name="")


class CancelStale:
    def after_claim(self, task: Any) -> None:
        raise Cancel("stale")


class SnoozeAlways:
    def after_claim(self, task: Any) -> None:
        raise Snooze(60)


class RetryAlways:
    def around_run(self, task: Any, run: Any) -> Any:
        raise Retry(30)


class BreakClaim:
    def after_claim(self, task: Any) -> None:
        raise LookupError("the hook is broken")


class BreakRun:
    def around_run(self, task: Any, run: Any) -> Any:
        run()
        raise LookupError("the hook is broken")


class ExitRun:
    def around_run(self, task: Any, run: Any) -> Any:
        raise SystemExit(3)


class Instead:
    def around_run(self, task: Any, run: Any) -> Any:
        return "instead"


class Tripled:
    def around_run(self, task: Any, run: Any) -> Any:
        return [run() for _ in range(3)]


class Useless:
    pass


class Broken:
    def __init__(self) -> None:
        raise RuntimeError("no key")

    def after_claim(self, task: Any) -> None: ...


class AsyncBefore:
    async def before_enqueue(self, call: Any) -> Any:
        return call


@task
def name_thread() -> str:
    return threading.current_thread().name


@task
def name_span() -> str:
    return trace.format_span_id(trace.get_current_span().get_span_context().span_id)


@task(max_attempts=2)
def tried_twice() -> None:
    """Nothing fails but its hooks."""


@task
def enqueue_another() -> None:
    name_span.enqueue()
