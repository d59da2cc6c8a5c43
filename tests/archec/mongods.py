"""A real mongod of the tests' own: a free loopback port, a folder of its own, its own handle."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.services.ports import free_port

HOW = "make services brings one (it needs AVX), or put mongod on the PATH"


def binary() -> Path | None:
    """The mongod of the PATH, else of the wheel in requirements-services.txt."""
    if found := shutil.which("mongod"):
        return Path(found)
    spec = importlib.util.find_spec("fiftyone")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder) / "db" / "bin" / "mongod"
        if path.is_file():
            return path
    return None


@dataclass
class Mongod:
    """A server that can be killed and started again over the same data."""

    program: Path
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="lafka-mongo-")))
    port: int = 0
    process: subprocess.Popen[bytes] | None = None
    databases: int = 0

    def start(self) -> None:
        """Start it, and wait until it answers: after a kill it first mends its files."""
        if not self.port:
            self.port = free_port()
        self.process = subprocess.Popen(
            [self.program, "--dbpath", self.folder, "--port", str(self.port), "--bind_ip",
             "127.0.0.1", "--nounixsocket", "--wiredTigerCacheSizeGB", "0.25",
             "--logpath", self.folder / "log"],
            env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        from pymongo import MongoClient

        with MongoClient("127.0.0.1", self.port, serverSelectionTimeoutMS=60_000) as client:
            client.admin.command("ping")

    def kill(self) -> None:
        assert self.process
        self.process.kill()
        self.process.wait()

    def uri(self) -> str:
        """A database that nobody has used."""
        self.databases += 1
        return f"mongodb://127.0.0.1:{self.port}/archec{self.databases}"

    def end(self) -> None:
        if self.process and self.process.poll() is None:
            self.kill()
        shutil.rmtree(self.folder)


def started() -> Mongod:
    """A server that answers; skips the test, or fails it under CI, where there is none."""
    program = binary()
    if program is None or importlib.util.find_spec("pymongo") is None:
        told = f"no mongod or no pymongo here: {HOW}"
        pytest.fail(told) if os.environ.get("CI") else pytest.skip(told)
    server = Mongod(program)
    server.start()
    return server
