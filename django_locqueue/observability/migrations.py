"""Whether the database has the columns that this code reads."""

import pkgutil
from functools import cache
from importlib import import_module

from django.apps import apps
from django.db import connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

_complete: set[str] = set()  # databases that had them all: nobody takes a migration back under running code


def missing_migrations(database: str) -> list[str]:
    """Return the queue's migrations that are not applied there. Asked until there are none, once in a process."""
    if database in _complete:
        return []
    applied = MigrationRecorder(connections[database]).applied_migrations()
    missing = [name for name in _written() if ("locqueue", name) not in applied]
    if not missing:
        _complete.add(database)
    return missing


@cache
def _written() -> list[str]:
    label = apps.get_app_config("locqueue").label
    module, _ = MigrationLoader.migrations_module(label)
    if module is None:  # MIGRATION_MODULES switches them off
        return []
    return sorted(
        each.name for each in pkgutil.iter_modules(import_module(module).__path__) if each.name[0] not in "_~"
    )
