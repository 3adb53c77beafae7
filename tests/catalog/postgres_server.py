"""A PostgreSQL server for tests: the system's package, on a free port, as an unprivileged user, gone afterwards."""

from __future__ import annotations

import itertools
import os
import pwd
import secrets
import shutil
import subprocess
from glob import glob
from pathlib import Path

import psycopg

from free_port import free_port

USER = "sqlext"
_INSTALLED_IN = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin")
_INSTALL = (["apt-get", "update", "-qq"], ["apt-get", "install", "-y", "-qq", "postgresql"])


class PostgresServer:
    """A server whose one user has a password; `folder` may be anywhere, its files are put where that user may go."""

    def __init__(self, folder: Path) -> None:
        self.password = secrets.token_urlsafe(16)
        self._bin = binaries()
        self._folder = Path("/tmp", f"sqlext-postgres-{secrets.token_hex(6)}")
        self._folder.mkdir(mode=0o700)
        self._owner = pwd.getpwnam("postgres" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name)
        os.chown(self._folder, self._owner.pw_uid, self._owner.pw_gid)
        self.port = free_port()
        self._numbers = itertools.count(1)
        self._log = folder / "initdb.log"
        self._start()

    def new_database(self) -> dict[str, str]:
        """Settings of a catalog in a database that no one else uses."""
        name = f"catalog{next(self._numbers)}"
        with psycopg.connect(self.address("postgres"), password=self.password, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        uri = f"jdbc:postgresql://127.0.0.1:{self.port}/{name}"
        return {"uri": uri, "jdbc.user": USER, "jdbc.password": self.password}

    def address(self, database: str) -> str:
        """As psycopg takes it, without the password."""
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{database}"

    def stop(self) -> None:
        self._run("pg_ctl", "-D", self._data, "-m", "immediate", "stop")
        shutil.rmtree(self._folder, ignore_errors=True)

    def restart(self) -> None:
        """Ends every connection, as a server that is started anew does."""
        self._run("pg_ctl", "-D", self._data, "-m", "fast", "-w", "restart", "-l", str(self._folder / "log"))

    @property
    def _data(self) -> str:
        return str(self._folder / "data")

    def _start(self) -> None:
        secret = self._folder / "password"
        secret.write_text(self.password)
        os.chown(secret, self._owner.pw_uid, self._owner.pw_gid)
        access = ("-A", "scram-sha-256", f"--pwfile={secret}", "-U", USER)
        self._run("initdb", "-D", self._data, *access, "--no-sync")
        settings = f"-p {self.port} -k {self._folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        self._run("pg_ctl", "-D", self._data, "-w", "-o", settings, "-l", str(self._folder / "log"), "start")

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._bin / program), *arguments]
        as_owner = {} if os.getuid() != 0 else {"user": self._owner.pw_uid, "group": self._owner.pw_gid}
        with self._log.open("ab") as log:
            subprocess.run(command, check=True, stdout=log, stderr=log, cwd="/", **as_owner)


def binaries() -> Path:
    """Where the server's programs are; installs the package where there are none and this is root's machine."""
    found = sorted(path for pattern in _INSTALLED_IN for path in glob(pattern) if Path(path, "initdb").exists())
    if not found and os.getuid() == 0 and shutil.which("apt-get"):
        for command in _INSTALL:
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        found = sorted(glob(_INSTALLED_IN[0]))
    if not found:
        raise FileNotFoundError("PostgreSQL is not installed: apt-get install postgresql")
    return Path(found[-1])


if __name__ == "__main__":
    binaries()
