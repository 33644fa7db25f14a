"""The call that a schedule makes: a registered task and arguments that fit it."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any

from django.utils.translation import gettext as _

from django_locqueue import registry
from django_locqueue.definition import argument_name, resolve
from django_locqueue.exceptions import InvalidSchedule, UnknownTask
from django_locqueue.policies import payload
from django_locqueue.policies.signature import mismatch

MISSED = ("once", "skip", "all")


def call_of(definition: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """Return the stored form of a call. Raises :class:`InvalidSchedule` for arguments that could never be passed."""
    if not isinstance(args, Sequence) or isinstance(args, str | bytes):
        raise InvalidSchedule("args", _("must be a list, got %(given)s.") % {"given": repr(args)[:80]})
    if not isinstance(kwargs, Mapping) or not all(isinstance(name, str) for name in kwargs):
        said = _("must be a dict whose keys are names, got %(given)s.")
        raise InvalidSchedule("kwargs", said % {"given": repr(kwargs)[:80]})
    positional, named = list(args), dict(kwargs)
    call: dict[str, Any] = {"args": positional, "kwargs": named}
    try:
        payload.dump_call(positional, named, partial(argument_name, definition))
    except (TypeError, ValueError) as error:
        raise InvalidSchedule("args", _("cannot be stored as JSON: %(error)s") % {"error": error}) from error
    takes_context = definition.takes_context
    is_chunked = getattr(definition, "chunk", None) is not None  # its function is called with a list of calls
    if not is_chunked and (wrong := mismatch(definition.func, positional, named, takes_context=takes_context)):
        said = _("do not fit %(function)s: %(error)s.")
        raise InvalidSchedule(
            "args", said % {"function": f"{definition.name}{wrong.signature}", "error": wrong.problem}
        )
    return call


def task_at(path: Any) -> Any:
    """Return the definition at a path. Raises :class:`InvalidSchedule` if there is none."""
    if not isinstance(path, str) or not path:
        raise InvalidSchedule("task", f'must be the path of a task, such as "shop.tasks.report", got {path!r:.80}.')
    try:
        return resolve(path)
    except UnknownTask as error:
        registry.autodiscover()
        close = get_close_matches(path, registry.definitions(), n=1)
        meant = f" Did you mean {close[0]!r}?" if close else ""
        raise InvalidSchedule("task", f"is no task: {error}{meant}") from error


def checked_missed(missed: Any) -> str:
    """Return the policy. Raises :class:`InvalidSchedule` if there is none of this name."""
    if missed not in MISSED:
        raise InvalidSchedule("missed", f"must be one of {', '.join(MISSED)}, got {missed!r:.80}.")
    return str(missed)
