"""A gateway of ours as a process of its own, ended by its handle; and raw questions to it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests import starts
from tests.sites import loopback
from tests.sites.loopback import QuietHandler
from tests.waiting import LIMIT

ROOT = Path(__file__).parents[2]


@contextmanager
def serving(*args: str, folder: Path) -> Iterator[str]:
    """``lafka *args`` in *folder*, which prints its address first; that address."""
    process = starts.Popen(
        [sys.executable, "-m", "lafka", *args],
        cwd=folder,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=(folder / "gateway.log").open("w"),
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), (folder / "gateway.log").read_text()
        yield address
    finally:
        process.terminate()
        process.wait(LIMIT)
        assert process.stdout is not None
        process.stdout.close()


Answer = tuple[int, dict[str, str], bytes]


@contextmanager
def odd(answers: Mapping[str, Answer | Callable[[], Answer]]) -> Iterator[tuple[str, list[str]]]:
    """A gateway that answers what the tests say, 404 elsewhere; its address, what was asked.

    A Content-Length is added unless one is said; with ``{base}`` for the address in headers.
    """
    asked: list[str] = []

    class Handler(QuietHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked.append(self.path)
            answer = answers.get(self.path, (404, {}, b"no"))
            status, fields, body = answer() if callable(answer) else answer
            self.send_response(status)
            for name, value in ({"Content-Length": str(len(body))} | fields).items():
                self.send_header(name, value.replace("{base}", base))
            self.end_headers()
            self.wfile.write(body)
            self.close_connection = "Content-Length" in fields

    with loopback.serving(Handler) as base:
        yield base, asked


@contextmanager
def dying(gateway: str, *, after: int, then: Callable[[], object] = bool) -> Iterator[str]:
    """Hands requests on to *gateway*, and hangs up on all after the first so many, having done
    *then*.
    """
    left = after
    lock = threading.Lock()

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            nonlocal left
            with lock:
                left -= 1
                if left < 0:
                    then()
                    return
            lines = [f"{k}: {v}" for k, v in self.headers.items() if k.lower() != "connection"]
            status, fields, body = get(gateway, self.path, *lines)
            self.send_response(status)
            for name, value in fields.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    with loopback.serving(Handler) as address:
        yield address


def ask(address: str, request: bytes) -> tuple[int, dict[str, str], bytes]:
    """What comes of the bytes *request*, sent as they are; the connection is closed behind it."""
    host, _, port = address.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=LIMIT) as connection:
        connection.sendall(request)
        data = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    fields = {name.lower(): value.strip() for name, _, value in (s.partition(":") for s in lines)}
    return int(first.split()[1]), fields, body


def get(
    address: str, target: str, *lines: str, method: str = "GET"
) -> tuple[int, dict[str, str], bytes]:
    """The answer to *target*, which stands in the request line as it is."""
    host = address.removeprefix("http://")
    named = [] if any(line.lower().startswith("host:") for line in lines) else [f"Host: {host}"]
    head = "\r\n".join((f"{method} {target} HTTP/1.1", *named, "Connection: close", *lines))
    return ask(address, f"{head}\r\n\r\n".encode())
