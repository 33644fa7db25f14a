"""The database that the tests run on, chosen by TEST_DATABASE: sqlite (default), postgres or mysql."""

import atexit
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

# Set for the processes that tests start: they use the test database itself, where pytest's own process begins
# beside it and makes it.
LIVE_NAME = "TEST_DATABASE_NAME"

PYTHON = f"{sys.version_info.major}{sys.version_info.minor}"


def configuration() -> dict[str, Any]:
    """Return the entry of DATABASES. Starts a PostgreSQL server for this run when there is none to use."""
    vendor = os.environ.get("TEST_DATABASE", "sqlite")
    try:
        database = VENDORS[vendor]()
    except KeyError:
        raise ImproperlyConfigured(f"TEST_DATABASE must be one of {', '.join(VENDORS)}; got {vendor!r}.") from None
    if LIVE_NAME in os.environ:
        database["NAME"] = os.environ[LIVE_NAME]
    return database


def sqlite() -> dict[str, Any]:
    # A file: threads and processes cannot share a database in memory. Nothing is made here, since linters import the
    # settings too; pytest-django makes the file and removes it.
    name = os.environ.get(LIVE_NAME) or str(Path(tempfile.gettempdir(), f"locqueue-tests-{os.getpid()}.sqlite3"))
    if LIVE_NAME not in os.environ:
        atexit.register(remove, name)
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": name,
        "TEST": {"NAME": name},
        # What a site with more than one process needs: writers wait for each other instead of failing.
        "OPTIONS": {
            "timeout": 20,
            "transaction_mode": "IMMEDIATE",
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL",
        },
    }


def remove(name: str) -> None:
    # Django removes the file itself; where a connection is still open then, its two companions stay.
    for companion in ("", "-wal", "-shm"):
        Path(name + companion).unlink(missing_ok=True)


def postgres() -> dict[str, Any]:
    url = os.environ.get("TEST_POSTGRES_URL")
    if not url:
        from testproject.demo.postgres import PostgresServer

        server = PostgresServer(durable=False)
        atexit.register(server.stop)
        server.start()
        url = server.url
        # One server for the run: the processes that tests start, and a second import of the settings, use it too.
        os.environ["TEST_POSTGRES_URL"] = url
    database = environ.Env.db_url_config(url)
    return {**database, "TEST": {"NAME": name_beside(database)}}


def mysql() -> dict[str, Any]:
    url = os.environ.get("TEST_MYSQL_URL")
    if not url:
        raise ImproperlyConfigured(
            "TEST_DATABASE=mysql needs TEST_MYSQL_URL, as mysql://user:password@127.0.0.1:3306/mysql, with an account "
            "that may create databases."
        )
    database = environ.Env.db_url_config(url)
    options = {**database.get("OPTIONS", {}), "charset": "utf8mb4"}
    return {**database, "OPTIONS": options, "TEST": {"NAME": name_beside(database), "CHARSET": "utf8mb4"}}


def name_beside(database: dict[str, Any]) -> str:
    # Runs with different Pythons, and those whose addresses name different databases, may share a server.
    return f"test_{database['NAME']}_{PYTHON}"


VENDORS: dict[str, Callable[[], dict[str, Any]]] = {"sqlite": sqlite, "postgres": postgres, "mysql": mysql}
