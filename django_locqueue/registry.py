"""What this process knows by name: our backends, as ``TASKS`` names them, and the definitions, by path.

A worker serves the tasks of all backends that share its database.
"""

import logging
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import module_has_submodule

from django_locqueue import compat, conf

logger = logging.getLogger("django_locqueue")

TASKS_MODULE = "tasks"  # of an app: where its tasks are looked for

_definitions: dict[str, Any] = {}
_aliases: dict[str, str] = {}  # the path of a definition, by one that it had before


def our_backend(alias: str) -> Any | None:
    """Return the backend of this alias; None if there is none (any more) or it is not ours."""
    return compat.task_backends[alias] if alias in conf.our_backends() else None


def backend_of(alias: str) -> Any:
    """Return the backend of this alias. Raises ImproperlyConfigured if there is none (any more), or it is not ours."""
    if (backend := our_backend(alias)) is None:
        raise ImproperlyConfigured(f"TASKS has no backend {alias!r} of django-locqueue (any more).")
    return backend


def backend_or_first(alias: str) -> Any | None:
    """Return the backend of this alias, or the first of ours: a row outlives the settings."""
    return our_backend(alias) or next(iter(our_backends()), None)


def our_backends() -> list[Any]:
    return [compat.task_backends[alias] for alias in conf.our_backends()]


def crash_limits() -> dict[str, int]:
    """Return ``MAX_CRASHES`` by alias: any worker rescues the tasks of every backend."""
    return {backend.alias: backend.max_crashes for backend in our_backends()}


def pending_limits() -> dict[str, int]:
    """Return ``MAX_PENDING`` by queue; the smallest, where several backends name it."""
    limits: dict[str, int] = {}
    for backend in our_backends():
        for queue_name, limit in backend.pending_limits.items():
            limits[queue_name] = min(limit.limit, limits.get(queue_name, limit.limit))
    return limits


def register(definition: Any) -> None:
    """Know a definition by its path from now on. A copy of one that is known (``using``) is not another."""
    path = definition.module_path
    known = _definitions.get(path)
    if known is None or known.func is not definition.func:  # another: its module was loaded again
        _refuse_claimed(path, definition.aliases)
        _aliases.update(dict.fromkeys(definition.aliases, path))
        _definitions[path] = definition


def _refuse_claimed(path: str, aliases: Sequence[str]) -> None:
    """Raise ``InvalidTask`` if a stored path would lead to two definitions."""
    if path in _aliases:
        raise compat.InvalidTask(
            f"{path} is an alias of {_aliases[path]} too. Remove it there, or rename this function."
        )
    for alias in aliases:
        if _aliases.get(alias, path) != path:
            raise compat.InvalidTask(
                f"The alias {alias} of {path} is one of {_aliases[alias]} too. Remove it from one of them."
            )
        if alias == path or alias in _definitions:
            raise compat.InvalidTask(f"The alias {alias} of {path} is itself a task. Remove the alias, or that task.")


def renamed(path: str) -> Any | None:
    """Return the definition that had this path before; None if there is none."""
    present = present_path(path)
    return None if present == path else _definitions[present]


def present_path(path: str) -> str:
    """Return the path that a definition has now; the same if it was not renamed."""
    if path not in _aliases and path not in _definitions:
        autodiscover()  # where it is now, nobody may have imported yet
    return _aliases.get(path, path)


def definitions() -> Mapping[str, Any]:
    """Return the definitions that were made so far, by path, in the order of their paths."""
    return dict(sorted(_definitions.items()))


@cache
def autodiscover() -> None:
    """Import the module ``tasks`` of each installed app, once, so that its definitions are known.

    One that cannot be imported is logged and keeps back no other: its tasks fail with the reason when they run.
    """
    for app in apps.get_app_configs():
        if app.module is not None and module_has_submodule(app.module, TASKS_MODULE):
            try:
                import_module(f"{app.name}.{TASKS_MODULE}")
            except (Exception, SystemExit):
                logger.exception("The tasks of %s cannot be imported.", app.name)
