"""PgBouncer in transaction mode between a worker and the test database."""

import os
import pwd
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import psycopg
from django.db import connection

SERVER_CONNECTIONS = 3  # fewer than one worker has connections, so that they meet each other's leftovers
POOLER = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")


class PgBouncer:
    """A pooler of its own, on a free port. ``url``: the database of this run through it."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        name = connection.settings_dict["NAME"]
        # A server-side cursor lives in a session: what Django's documentation asks for behind such a pooler.
        self.url = f"postgres://postgres@127.0.0.1:{self.port}/{name}?DISABLE_SERVER_SIDE_CURSORS=True"
        self.config = folder / "pgbouncer.ini"
        self.config.write_text(
            f"[databases]\n{name} = {_target()}\n\n[pgbouncer]\n"
            f"listen_addr = 127.0.0.1\nlisten_port = {self.port}\nunix_socket_dir =\n"
            f"auth_type = any\npool_mode = transaction\ndefault_pool_size = {SERVER_CONNECTIONS}\n"
            f"admin_users = postgres\nserver_idle_timeout = 5\n"
        )
        self.log = folder / "pgbouncer.log"

    def __enter__(self) -> "PgBouncer":
        # It refuses to run as root.
        account = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        arguments = [POOLER or "pgbouncer", "/dev/stdin"]
        with self.config.open() as config, self.log.open("ab") as log:
            self._process = subprocess.Popen(
                arguments,
                stdin=config,  # pytest's folders are closed to other accounts
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                user=account.pw_uid if account else None,
                group=account.pw_gid if account else None,
                extra_groups=[] if account else None,
            )
        return self

    def __exit__(self, *error: object) -> None:
        self._process.terminate()
        self._process.wait(10)

    def connect(self, database: str = "", **options: Any) -> psycopg.Connection[Any]:
        """Connect through it to the test database, or to its own console."""
        name = database or connection.settings_dict["NAME"]
        return psycopg.connect(
            host="127.0.0.1", port=self.port, user="postgres", dbname=name, connect_timeout=5, **options
        )

    @property
    def answers(self) -> bool:
        assert self._process.poll() is None, self.log.read_text()
        try:
            self.connect().close()
        except psycopg.OperationalError:
            return False
        return True

    def show(self, what: str) -> list[tuple[Any, ...]]:
        """Return the rows of its console for the test database: ``SERVERS``, ``CLIENTS``."""
        with self.connect("pgbouncer", autocommit=True) as console:
            rows = console.execute(f"SHOW {what}").fetchall()
        return [row for row in rows if connection.settings_dict["NAME"] in row]


def _target() -> str:
    """Return the server of the test database in PgBouncer's words."""
    url = urlsplit(os.environ["TEST_POSTGRES_URL"])
    asked = {key: values[-1] for key, values in parse_qs(url.query).items()}
    settings = connection.settings_dict
    parts = {
        "host": asked.get("host") or settings["HOST"],
        "port": settings["PORT"],
        "user": settings["USER"],
        "password": settings["PASSWORD"],
        "dbname": settings["NAME"],
    }
    return " ".join(f"{key}={value}" for key, value in parts.items() if value)
