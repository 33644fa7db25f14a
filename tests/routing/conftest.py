"""Projects with a replica, or whose queue is not in `default`, and a record of which statement went where."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connections
from django.db.backends.signals import connection_created

OURS = "django_locqueue.backend.LocQueueBackend"
TABLES = re.compile(r"\blocqueue_(task|taskattempt|worker|queue|bulkoperation|activity)\b")


class Traffic:
    """The aliases on which a statement named one of the queue's tables, and those statements."""

    def __init__(self) -> None:
        self.statements: dict[str, list[str]] = {}

    def watch(self, connection: Any, **kwargs: Any) -> None:
        def note(execute: Any, sql: str, *rest: Any) -> Any:
            if TABLES.search(sql):
                self.statements.setdefault(connection.alias, []).append(sql)
            return execute(sql, *rest)

        note.is_ours = True  # type: ignore[attr-defined]
        connection.execute_wrappers[:] = [
            *(wrapper for wrapper in connection.execute_wrappers if not hasattr(wrapper, "is_ours")),
            note,
        ]

    def goes_only_to(self, alias: str) -> bool:
        assert self.statements.keys() == {alias}, {a: found[:3] for a, found in self.statements.items() if a != alias}
        return True


@pytest.fixture
def replica(second_session: None, transactional_db: None) -> Iterator[None]:
    """Add `replica`, an empty database. What is sent there fails: it has no tables, and the test may not use it."""
    empty = {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}
    connections.databases["replica"] = connections.configure_settings({"default": {}, "replica": empty})["replica"]
    yield
    if hasattr(vars(connections)["_connections"], "replica"):
        del connections["replica"]
    del connections.databases["replica"]


# Which settings a project has, and the alias on which every statement about the queue's tables must be.
PROJECTS: dict[str, tuple[list[str], dict[str, str], str]] = {
    "a replica": (["tests.routers.ReadsFromReplica"], {}, "default"),
    "routers that refuse": (["tests.routers.RefusesReads"], {}, "default"),
    "an alias of its own by routers": (["tests.routers.QueueApart"], {}, "second"),
    "an alias of its own by DATABASE": (["tests.routers.ReadsFromReplica"], {"DATABASE": "second"}, "second"),
}


@pytest.fixture(params=PROJECTS)
def project(request: pytest.FixtureRequest, replica: None, settings: Any) -> str:
    """Configure one of the projects; return the alias of its queue."""
    routers, options, alias = PROJECTS[request.param]
    settings.DATABASE_ROUTERS = routers
    settings.TASKS = {"default": {"BACKEND": OURS, "QUEUES": [], "OPTIONS": options}}
    return alias


@pytest.fixture
def traffic(project: str) -> Iterator[Traffic]:
    """Watch every connection of every thread."""
    seen = Traffic()
    connection_created.connect(seen.watch)
    for connection in connections.all():
        seen.watch(connection)
    yield seen
    connection_created.disconnect(seen.watch)
    for connection in connections.all():
        connection.execute_wrappers[:] = [each for each in connection.execute_wrappers if not hasattr(each, "is_ours")]
