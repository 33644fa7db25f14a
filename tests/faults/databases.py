"""Throw-away databases that faults may be done to. Workers reach PostgreSQL through a proxy, we by its socket."""

import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

import psycopg

from testproject.demo.postgres import PORT, PostgresServer
from tests.databases import LIVE_NAME
from tests.faults.proxy import Proxy

ROLE = "queue_user"  # no superuser: limits of connections and time are to hold for it


class Database(Protocol):
    name: str
    environment: dict[str, str]  # of the processes that are to be harmed

    def prepare(self) -> None:
        """Make it, and point the settings of this process at it."""

    def close(self) -> None:
        """Remove it."""


class Postgres:
    name = "postgres"

    def prepare(self) -> None:
        self.server = PostgresServer()  # durable: an immediate stop may lose no commit
        self.server.start()
        self.proxy = Proxy(self._socket())
        self.run(f"CREATE ROLE {ROLE} LOGIN", f"CREATE DATABASE queue OWNER {ROLE}")
        self.environment = {"TEST_POSTGRES_URL": f"postgres://{ROLE}@127.0.0.1:{self.proxy.port}/queue"}
        url = f"postgres://{ROLE}@/queue?host={self.server.folder}"
        os.environ |= {"TEST_DATABASE": "postgres", "TEST_POSTGRES_URL": url}

    def close(self) -> None:
        self.proxy.close()
        self.server.stop()

    def _socket(self) -> str:
        return str(self.server.folder / f".s.PGSQL.{self.server.port}")

    def run(self, *statements: str) -> list[Any]:
        """Run statements as the superuser, and return the rows of the last."""
        with psycopg.connect(self.server.url, autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def terminate_sessions(self) -> int:
        """End all sessions of the workers and producers; return how many there were."""
        return len(self.run(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{ROLE}'"))

    def restart(self, how: int) -> None:
        self.server.halt(how)
        self.server.serve(self.server.port)

    def move(self) -> None:
        """End the server, and let another take over at another address, to which the way leads then."""
        port = PORT + 1 if self.server.port == PORT else PORT
        self.server.halt()
        self.server.serve(port)
        self.proxy.target = self._socket()
        self.server.halt()
        self.server.serve(PORT)
        self.proxy.target = self._socket()


class SQLite:
    name = "sqlite"

    def prepare(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="locqueue-faults-")
        self.path = str(Path(self.folder.name, "db.sqlite3"))
        # Django's defaults: what a new project has.
        self.environment = {"TEST_SQLITE_DEFAULTS": "yes"}
        os.environ |= {"TEST_DATABASE": "sqlite", LIVE_NAME: self.path}

    def close(self) -> None:
        self.folder.cleanup()

    def lock(self) -> Any:
        """Return a context in which nobody else can read or write."""
        connection = sqlite3.connect(self.path, isolation_level=None, timeout=30)
        connection.execute("BEGIN EXCLUSIVE")
        return closing(connection)


DATABASES: dict[str, type[Database]] = {"postgres": Postgres, "sqlite": SQLite}
