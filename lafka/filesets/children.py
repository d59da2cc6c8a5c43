"""What foreign bytes could make stop or crash is done in child processes, with bounds.

Three things are: telling a file's type (libmagic), reading a bundle, reading a landing page. A
child answers one question at a time and is started anew when it dies; both ways go JSON, so nothing
that a site wrote is unpickled. A message is eight bytes of length, then so many bytes.

The methods of :class:`Children` block: a crawl calls them in its threads.
"""

from __future__ import annotations

import base64
import json
import os
import queue
import resource
import select
import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import Any

from lafka.errors import LafkaError
from lafka.filesets.bundles import BundleContents, BundleLimits
from lafka.filesets.pages import HtmlBiblio, read_page
from lafka.filesets.slices import Slice
from lafka.filesets.sniffing import sniffed
from lafka.filesets.unpacking import read_bundle
from lafka.warc.format.sources import write_all

MODULE = "lafka.filesets.children"
"""The module whose ``serve`` a child runs."""
MEMORY = 1 << 30
"""Bytes of address space of a child."""
MAX_PAGE = 8 << 20
"""Bytes of a landing page that are looked at; what it says of itself stands in its head."""
CPU_SECONDS = 10
"""For a question whose size does not grow with the file."""
BYTES_A_SECOND = 16 << 20
"""Of a bundle, unpacked and hashed four times over: what the slowest machine should do."""

_CODE = """\
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from importlib import import_module
import_module(sys.argv[2]).serve()
"""
_LENGTH = struct.Struct(">Q")
_PATIENCE = 6  # seconds of the clock for a second of work


class ChildDied(LafkaError):
    """A child took too long or died over what it was asked; ``str`` says which."""


class Children:
    """At most *count* children, started when there is work for them."""

    def __init__(self, count: int = 2) -> None:
        self._count = count
        self._idle: queue.LifoQueue[_Child] = queue.LifoQueue()
        for _ in range(count):
            self._idle.put(_Child())

    def mimetype(self, prefix: bytes) -> str:
        """See ``sniffing.sniffed``; empty where the child died over it."""
        try:
            return str(self._ask("mimetype", {"prefix": _text(prefix)}, CPU_SECONDS))
        except ChildDied:
            return ""

    def bundle(
        self,
        path: Path,
        limits: BundleLimits,
        *,
        start: int = 0,
        length: int | None = None,
        others: tuple[str, ...] = (),
    ) -> BundleContents:
        """See ``unpacking.read_bundle``: of *length* bytes from byte *start* of the file."""
        size = path.stat().st_size - start if length is None else length
        work = min(limits.max_total, limits.max_ratio * size) // BYTES_A_SECOND
        question = {
            "path": str(path),
            "start": start,
            "length": size,
            "limits": asdict(limits),
            "others": others,
        }
        try:
            return BundleContents.of_json(self._ask("bundle", question, 60 + work))
        except (ChildDied, ValueError) as error:
            return BundleContents(trouble=str(error))

    def page(self, url: str, body: bytes, content_type: str, links: list[str]) -> HtmlBiblio:
        """See ``pages.read_page``; nothing is known of a page that the child died over."""
        part = _text(body[:MAX_PAGE])
        question = {"url": url, "body": part, "content_type": content_type, "links": links}
        try:
            return HtmlBiblio.of_json(self._ask("page", question, CPU_SECONDS))
        except (ChildDied, ValueError):
            return HtmlBiblio()

    def _ask(self, name: str, question: dict[str, Any], seconds: int) -> Any:
        child = self._idle.get()
        try:
            return child.ask({"name": name, "seconds": seconds, **question}, seconds)
        finally:
            self._idle.put(child)

    def stop(self) -> None:
        """End the children, after what they were asked last."""
        for _ in range(self._count):
            self._idle.get().stop()


class _Child:
    """A process that answers one question at a time; it ends with its standard input."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, question: dict[str, Any], seconds: int) -> Any:
        data = json.dumps(question).encode()
        process = self._process
        if process is None or process.poll() is not None:
            process = self._process = _started()
        try:
            assert process.stdin is not None
            process.stdin.write(_LENGTH.pack(len(data)) + data)
            process.stdin.flush()
            return json.loads(_message(process, monotonic() + _PATIENCE * seconds))
        except (OSError, EOFError, TimeoutError) as error:
            raise ChildDied(self._ended(error, seconds)) from None

    def _ended(self, error: Exception, seconds: int) -> str:
        process, self._process = self._process, None
        assert process is not None
        late = isinstance(error, TimeoutError)
        if late:
            process.kill()
        code = _closed(process)
        if late:
            return f"no answer after {_PATIENCE * seconds} seconds"
        if code == -signal.SIGXCPU:
            return f"more than {seconds} seconds of work"
        return f"its reader ended with {code}"

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            _closed(process)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _started() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", _CODE, json.dumps(sys.path), MODULE]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603  our own code


def _closed(process: subprocess.Popen[bytes]) -> int:
    """The exit code of *process*, after the end of its standard input."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(OSError):
        process.stdin.close()
    process.stdout.close()
    try:
        return process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _message(process: subprocess.Popen[bytes], deadline: float) -> bytes:
    assert process.stdout is not None
    fd = process.stdout.fileno()
    (length,) = _LENGTH.unpack(_exactly(fd, _LENGTH.size, deadline))
    return _exactly(fd, length, deadline)


def _exactly(fd: int, length: int, deadline: float) -> bytes:
    pieces = bytearray()
    while len(pieces) < length:
        ready, _, _ = select.select([fd], [], [], max(0.0, deadline - monotonic()))
        if not ready:
            raise TimeoutError
        piece = os.read(fd, length - len(pieces))
        if not piece:
            raise EOFError
        pieces += piece
    return bytes(pieces)


# In the child -----------------------------------------------------------------------------


def serve() -> None:
    """Answer questions until standard input ends. Runs in the child."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal: the crawl ends us
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    answers = os.dup(1)
    with Path(os.devnull).open("wb") as nothing:
        os.dup2(nothing.fileno(), 1)
    while header := sys.stdin.buffer.read(_LENGTH.size):
        (length,) = _LENGTH.unpack(header)
        question = json.loads(sys.stdin.buffer.read(length))
        _allow(int(question["seconds"]))
        answer = json.dumps(_TASKS[question["name"]](question)).encode()
        write_all(answers, _LENGTH.pack(len(answer)) + answer)


def _allow(seconds: int) -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(used.ru_utime + used.ru_stime) + seconds + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))


def _mimetype(question: dict[str, Any]) -> str:
    return sniffed(base64.b64decode(question["prefix"]))


def _bundle(question: dict[str, Any]) -> dict[str, Any]:
    limits = BundleLimits(**question["limits"])
    with Path(question["path"]).open("rb", buffering=0) as file:
        part = Slice(file, question["start"], question["length"])
        return read_bundle(part.buffered(), limits, question["others"]).as_json()


def _page(question: dict[str, Any]) -> dict[str, Any]:
    body = base64.b64decode(question["body"])
    url, content_type = question["url"], question["content_type"]
    return read_page(url, body, content_type, question["links"]).as_json(whole=True)


_TASKS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "mimetype": _mimetype,
    "bundle": _bundle,
    "page": _page,
}
