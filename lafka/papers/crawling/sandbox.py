"""Pages are parsed in child processes, with bounds: a page can be made to stop any parser.

libxml2 takes seconds and hundreds of megabytes for some pages of 4 MiB, holding the interpreter's
lock all the while, and a parser of foreign bytes may crash. Here that is one page without links;
the reactor does not wait, and the child is started anew. A first look, which is bounded, needs no
child (``reading.read_first``), so on most pages none is asked. What a child says comes back as
JSON: it has read what a site wrote, so nothing of it is unpickled.

A message is eight bytes of length, then so many bytes.
"""

from __future__ import annotations

import json
import logging
import os
import pickle
import queue
import resource
import select
import signal
import struct
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

from lafka.errors import LafkaError, Stopped
from lafka.papers.finders import Page
from lafka.papers.walk import pages as reading
from lafka.papers.walk.pages import PageReading
from lafka.pids import Pid
from lafka.storage.threads import Threads
from lafka.warc.format.sources import write_all

MODULE = "lafka.papers.crawling.sandbox"
"""The module whose ``serve`` a child runs."""
CHILDREN = 2
CPU_SECONDS = 10
"""For one page; the slowest pages that were ever made for it take one."""
WALL_SECONDS = 60.0
MEMORY = 1 << 30
"""Bytes of address space of a child."""

_CODE = """\
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from importlib import import_module
import_module(sys.argv[2]).serve()
"""
_LENGTH = struct.Struct(">Q")
_KNOWN = 30  # addresses of the way to a page that may be among its candidates

logger = logging.getLogger(__name__)


class Unread(LafkaError):
    """A page took too long, or the child that read it died; ``str`` says which."""


class Pages:
    """Reads pages in at most two children, started when there are pages.

    *links_max*: how many links a trail can ask for; not many more candidates are handed on.
    """

    def __init__(self, links_max: int) -> None:
        # A trail takes twice as many, beside those that it has asked for already.
        self._most = 3 * links_max + _KNOWN
        self._threads = Threads("lafka-pages", CHILDREN)
        self._children = [_Child() for _ in range(CHILDREN)]
        self._idle: queue.LifoQueue[_Child] = queue.LifoQueue()
        for child in self._children:
            self._idle.put(child)
        self._cut = False

    async def read(self, page: Page, pid: Pid) -> PageReading:
        """See ``reading.read``; a page that cannot be read has no candidates.

        ``Stopped`` where it was not read because of ``cut``.
        """
        try:
            found = await self._threads.run(self._ask, page)
        except Unread as error:
            if self._cut:
                raise Stopped(f"{page.url}: not read, for the crawl stops") from None
            found = PageReading(reason=f"{reading.UNREADABLE}: {error}")
        if found.reason.startswith(reading.UNREADABLE):
            logger.error("%s: %s: %s", pid, page.url, found.reason)
        return found

    def _ask(self, page: Page) -> PageReading:
        child = self._idle.get()
        try:
            if self._cut:
                raise Unread("not begun")
            return child.ask(
                (
                    page.url,
                    page.body,
                    page.content_type,
                    page.link_headers,
                    page.aliases,
                    self._most,
                )
            )
        finally:
            self._idle.put(child)

    def cut(self) -> None:
        """Give up the pages that are being read, or wait for it."""
        self._cut = True
        for child in self._children:
            child.give_up()

    def stop(self) -> None:
        self._threads.stop()
        while not self._idle.empty():
            self._idle.get().stop()


class _Child:
    """A process that answers one question at a time; it ends with its standard input."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._given_up = False

    def ask(self, question: tuple[Any, ...]) -> PageReading:
        data = pickle.dumps(question)
        process = self._process
        if process is None or process.poll() is not None:
            process = self._process = _started()
        if self._given_up:
            process.kill()
        try:
            assert process.stdin is not None
            process.stdin.write(_LENGTH.pack(len(data)) + data)
            process.stdin.flush()
            answer = _message(process, monotonic() + WALL_SECONDS)
        except (BrokenPipeError, EOFError, TimeoutError) as error:
            raise Unread(self._ended(error)) from None
        return PageReading.of_json(json.loads(answer))

    def _ended(self, error: Exception) -> str:
        process, self._process = self._process, None
        assert process is not None
        if isinstance(error, TimeoutError):
            process.kill()
        code = _closed(process)
        if isinstance(error, TimeoutError):
            return f"no answer after {WALL_SECONDS:g} seconds"
        if code == -signal.SIGXCPU:
            return f"more than {CPU_SECONDS} seconds of work"
        return f"its parser ended with {code}"

    def give_up(self) -> None:
        """Answer nothing any more; whoever waits for an answer is told."""
        self._given_up = True
        process = self._process
        if process is not None:
            process.kill()

    def stop(self) -> None:
        if self._process is not None:
            _closed(self._process)


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
    pieces = b""
    while len(pieces) < length:
        ready, _, _ = select.select([fd], [], [], max(0.0, deadline - monotonic()))
        if not ready:
            raise TimeoutError
        piece = os.read(fd, length - len(pieces))
        if not piece:
            raise EOFError
        pieces += piece
    return pieces


# In the child -----------------------------------------------------------------------------


def serve() -> None:
    """Answer questions until standard input ends. Runs in the child."""
    for number in (signal.SIGINT, signal.SIGTERM):
        # A terminal and systemd send them to us, too. The crawl ends us when it has its page; were
        # we to end before, that page would be told as one that cannot be read.
        signal.signal(number, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    answers = os.dup(1)
    with Path(os.devnull).open("wb") as nothing:
        os.dup2(nothing.fileno(), 1)
    while header := sys.stdin.buffer.read(_LENGTH.size):
        (length,) = _LENGTH.unpack(header)
        data = sys.stdin.buffer.read(length)
        _allow(CPU_SECONDS)
        answer = _answered(pickle.loads(data))  # noqa: S301  what the crawl itself wrote
        write_all(answers, _LENGTH.pack(len(answer)) + answer)


def _allow(seconds: int) -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(used.ru_utime + used.ru_stime) + seconds + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))


def _answered(question: tuple[Any, ...]) -> bytes:
    *page, most = question
    found = reading.read(Page(*page))
    told = replace(found, candidates=found.candidates[:most])
    return json.dumps(told.as_json()).encode()
