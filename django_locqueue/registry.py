"""What this process knows by name: our backends, as ``TASKS`` names them, and the definitions, by path.

A worker serves the tasks of all backends that share its database.
"""

import logging
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

from django.apps import apps
from django.utils.module_loading import module_has_submodule

from django_locqueue import compat, conf

logger = logging.getLogger("django_locqueue")

TASKS_MODULE = "tasks"  # of an app: where its tasks are looked for

_definitions: dict[str, Any] = {}


def our_backend(alias: str) -> Any | None:
    """Return the backend of this alias; None if there is none (any more) or it is not ours."""
    return compat.task_backends[alias] if alias in conf.our_backends() else None


def our_backends() -> list[Any]:
    return [compat.task_backends[alias] for alias in conf.our_backends()]


def crash_limits() -> dict[str, int]:
    """Return ``MAX_CRASHES`` by alias: any worker rescues the tasks of every backend."""
    return {backend.alias: backend.max_crashes for backend in our_backends()}


def register(definition: Any) -> None:
    """Know a definition by its path from now on. A copy of one that is known (``using``) is not another."""
    path = definition.module_path
    known = _definitions.get(path)
    if known is None or known.func is not definition.func:  # another: its module was loaded again
        _definitions[path] = definition


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
