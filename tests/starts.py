"""Shell lines with ``lafka`` and ``scrapy`` in them, without the second that each start costs.

A process that has imported what commands need becomes one, in a child, when a program asks: with
its arguments, environment, folder and files 0, 1 and 2. The program has the child's exit code.
Sites are ours here, so crawls do without AutoThrottle.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
NAMES = ("lafka", "scrapy")
ASKS = """\
#!{python} -IS
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
server.connect({address!r})
asked = {{"argv": sys.argv, "folder": os.getcwd(), "environment": dict(os.environ)}}
socket.send_fds(server, [json.dumps(asked).encode()], [0, 1, 2])
sys.exit(int(server.recv(9)))
"""
_LARGEST = 1 << 20


@dataclass(frozen=True, slots=True)
class Shell:
    """``sh`` in *folder*; programs are looked for in *bins* first."""

    folder: Path
    bins: tuple[Path, ...]
    more: dict[str, str] = field(default_factory=dict)
    """Variables of the environment."""

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "PATH": os.pathsep.join((*map(str, self.bins), os.environ["PATH"])),
            "PYTHONPATH": str(ROOT),
            "LAFKA_ALLOWED_NETWORKS": "127.0.0.0/8",
            "LAFKA_CONTACT": "you@example.org",
            **self.more,
        }

    def __call__(self, line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "-c", line], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip

    @contextmanager
    def serving(self, line: str) -> Iterator[str]:
        """While *line* serves, at a free port; the address that it says first."""
        with subprocess.Popen(
            ["sh", "-c", f"exec {line.rstrip(' &')} --port 0"], cwd=self.folder,
            env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        ) as server:  # fmt: skip
            assert server.stdout is not None
            try:
                yield server.stdout.readline().strip()
            finally:
                server.terminate()


@contextmanager
def programs() -> Iterator[Path]:
    """A folder with the programs, which work until the context is left."""
    with tempfile.TemporaryDirectory(prefix="lafka-") as folder:  # addresses have to be short
        address, bin_ = Path(folder) / "starts", Path(folder) / "bin"
        bin_.mkdir()
        for name in NAMES:
            (bin_ / name).write_text(ASKS.format(python=sys.executable, address=str(address)))
            (bin_ / name).chmod(0o755)
        with _server(address):
            yield bin_


@contextmanager
def _server(address: Path) -> Iterator[None]:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.starts", address], cwd=ROOT,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
    ) as server:  # fmt: skip
        assert server.stdout is not None
        try:
            assert server.stdout.readline() == b"ready\n"
            yield
        finally:
            server.terminate()


def serve(address: str) -> None:
    """Become whatever is asked for at *address*, until a signal."""
    import lafka.settings
    from tests.faults.zygote import warm

    warm()
    lafka.settings.AUTOTHROTTLE_ENABLED = False
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(address)
        listening.listen(64)
        print("ready", flush=True)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        while True:
            asker, _ = listening.accept()
            if os.fork() == 0:
                break
            asker.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    asked, files, *_ = socket.recv_fds(asker, _LARGEST, 3)
    child = os.fork()
    if child:
        for file in (*files, 0, 1, 2):
            os.close(file)
        _attend(child, asker)
    asker.close()
    _become(json.loads(asked), files)


def _attend(child: int, asker: socket.socket) -> None:
    """Tell *asker* how *child* ends; end it where the asker is no more."""
    ended = os.pidfd_open(child)
    if ended not in select.select([ended, asker], [], [])[0]:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    asker.send(str(code if code >= 0 else 128 - code).encode())
    os._exit(0)


def _become(asked: dict[str, Any], files: list[int]) -> None:
    """Be the command from here on."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.argv = asked["argv"]
    from lafka.__main__ import main

    sys.exit(main())


if __name__ == "__main__":
    serve(sys.argv[1])
