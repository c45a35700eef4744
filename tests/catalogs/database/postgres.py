"""A Postgres server of the tests' own, from the programs of Debian's package, in a temporary folder on a free port."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import uuid
from pathlib import Path

CURE = "apt-get install postgresql, as bash .ci/run does where it can"
ABSENT = f"Postgres is not installed: {CURE}"

DEBIAN = Path("/usr/lib/postgresql")

_PASSWORD = "kept-secret"
_USER = "tester"


def programs() -> Path | None:
    """The folder with initdb and pg_ctl, of the newest release that is here; None without any."""
    folders = sorted(DEBIAN.glob("*/bin"), key=lambda path: float(path.parent.name))
    on_path = shutil.which("initdb")
    found = [*([Path(os.path.realpath(on_path)).parent] if on_path else []), *folders]
    return next((each for each in reversed(found) if (each / "initdb").exists() and (each / "pg_ctl").exists()), None)


def _account() -> str | None:
    """The account that runs the server, which must not be root; None for that of this process."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            pwd.getpwnam(name)
        except KeyError:
            continue
        return name
    raise LookupError("no account other than root")


class PostgresServer:
    """The server; `url` gives the URL of a new database in it."""

    def __init__(self) -> None:
        found = programs()
        assert found is not None
        self._programs, self._account = found, _account()
        self._folder = Path(tempfile.mkdtemp(prefix="deltaskip-postgres-"))
        if self._account is not None:
            shutil.chown(self._folder, self._account)
        password = self._folder / "password"
        password.write_text(_PASSWORD)
        password.chmod(0o644)
        self._data = self._folder / "data"
        self._run(
            "initdb", "-D", str(self._data), "-U", _USER, f"--pwfile={password}", "--auth=scram-sha-256",
            "--encoding=UTF8", "--locale=C", "--no-sync",
        )  # fmt: skip
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.start()

    def start(self) -> None:
        """Start the server, and return when it answers."""
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
        log = str(self._folder / "log")
        self._run("pg_ctl", "start", "-w", "-D", str(self._data), "-l", log, "-o", options)

    def stop(self) -> None:
        """Stop the server at once; clients lose their connections."""
        self._run("pg_ctl", "stop", "-w", "-m", "immediate", "-D", str(self._data))

    def close(self) -> None:
        """Stop the server and delete its folder."""
        if (self._data / "postmaster.pid").exists():
            self.stop()
        shutil.rmtree(self._folder)

    def url(self, database: str | None = None) -> str:
        """The URL of a database; without a name, of a new one."""
        if database is None:
            import psycopg2

            database = f"db_{uuid.uuid4().hex}"
            connection = psycopg2.connect(
                host="127.0.0.1", port=self.port, user=_USER, password=_PASSWORD, dbname="postgres"
            )
            connection.autocommit = True
            connection.cursor().execute(f"CREATE DATABASE {database}")
            connection.close()
        return f"postgresql+psycopg2://{_USER}:{_PASSWORD}@127.0.0.1:{self.port}/{database}"

    def _run(self, program: str, *arguments: str) -> None:
        # A daemon keeps what it was given for its output: a pipe would never end.
        with open(self._folder.parent / f"{self._folder.name}-{program}.log", "w+") as log:
            done = subprocess.run(
                [str(self._programs / program), *arguments],
                user=self._account, cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False,
            )  # fmt: skip
            log.seek(0)
            said = log.read()
        os.unlink(log.name)
        if done.returncode:
            raise RuntimeError(f"{program} failed: {said}")
