"""A real PostgreSQL of the tests' own: a free loopback port, its own folder, its own handle."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest

from tests.services.ports import free_port

HOW = "apt install postgresql brings one; put its initdb and postgres on the PATH"
_PLACES = "/usr/lib/postgresql"
_USER = "nobody"  # the server refuses to be root's


def program(name: str) -> Path | None:
    """The program *name* of the PATH, else of the distribution's newest PostgreSQL."""
    if found := shutil.which(name):
        return Path(found)
    return max(Path(_PLACES).glob(f"*/bin/{name}"), default=None)


@dataclass
class Postgres:
    """A server that can be stopped as a power cut does and started again over the same data."""

    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="lafka-postgres-")))
    port: int = 0
    process: subprocess.Popen[bytes] | None = None
    databases: int = 0
    fsync: str = "off"

    @property
    def _how(self) -> dict[str, object]:
        user = {"user": _USER, "group": 65534, "extra_groups": []} if os.getuid() == 0 else {}
        env = {"PATH": os.environ["PATH"], "LC_ALL": "C", "HOME": str(self.folder)}
        return {"env": env, "stdin": subprocess.DEVNULL, "cwd": self.folder, **user}

    def make(self) -> None:
        if os.getuid() == 0:
            shutil.chown(self.folder, _USER)
        initdb = [program("initdb"), "-D", self.folder / "data", "-A", "trust", "-U", "lafka",
                  "-E", "UTF8", "--no-sync"]  # fmt: skip
        subprocess.run(initdb, check=True, capture_output=True, **self._how)  # type: ignore[call-overload]
        self.port = free_port()

    def start(self, said: bytes = b"ready to accept connections", **more: str) -> None:
        """Start it, and wait until it says in its log that it answers, or what *said* is."""
        options = {
            "listen_addresses": "127.0.0.1", "unix_socket_directories": self.folder,
            "fsync": self.fsync, "shared_buffers": "32MB", "max_connections": 20, **more,
        }  # fmt: skip
        postgres = [program("postgres"), "-D", self.folder / "data", "-p", str(self.port)]
        for name, value in options.items():
            postgres += ["-c", f"{name}={value}"]
        self.process = subprocess.Popen(postgres, stderr=subprocess.PIPE, **self._how)  # type: ignore[call-overload]
        assert self.process is not None
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if said in line:
                # What it has to say later must not stop it.
                threading.Thread(target=self.process.stderr.read, daemon=True).start()
                return
        raise AssertionError("postgres ended before it was ready")

    def stop(self) -> None:
        """As a power cut: its processes end without a checkpoint, connections break."""
        assert self.process
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait()

    def url(self) -> str:
        """An empty database that nobody has used."""
        self.databases += 1
        name = f"lafka{self.databases}"
        with psycopg.connect(self._url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")  # type: ignore[call-overload]
        return self._url(name)

    def _url(self, name: str) -> str:
        return f"postgresql://lafka@127.0.0.1:{self.port}/{name}"

    def end(self) -> None:
        if self.process and self.process.poll() is None:
            self.stop()
        shutil.rmtree(self.folder)


def started() -> Postgres:
    """A server that answers; skips the test, or fails it under CI, where there is none."""
    if not (program("initdb") and program("postgres")):
        told = f"no PostgreSQL here: {HOW}"
        pytest.fail(told) if os.environ.get("CI") else pytest.skip(told)
    server = Postgres()
    try:
        server.make()
        server.start()
    except BaseException:
        server.end()
        raise
    return server
