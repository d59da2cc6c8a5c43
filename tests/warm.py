"""A process that has imported what commands need, and becomes one, in a child, when it is asked.

A start of Python and Scrapy takes a second; this some hundredths of one. The child has the files 0,
1 and 2, the folder, the environment and the arguments that come with the question, and runs the
module as ``python -m`` does. Started and asked by ``tests.starts``.
"""

from __future__ import annotations

import atexit
import faulthandler
import gc
import importlib
import io
import json
import os
import runpy
import select
import signal
import socket
import sys
import threading
import warnings
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from tests import starts

PACKAGES = ("lafka.cli", "lafka.politeness", "lafka.spiders", "scrapy.commands",
            "scrapy.downloadermiddlewares", "scrapy.spidermiddlewares")  # fmt: skip
MODULES = (
    "lafka.runs.feed", "lafka.pipelines", "lafka.runs.progress",
    "lafka.papers.archive.repairs", "lafka.capture.handler", "lxml.html",
    "lafka.cli.commands", "protego", "queuelib", "scrapy.cmdline",
    "scrapy.core.downloader.handlers.http11", "scrapy.core.scheduler",
    "scrapy.extensions.closespider",
    "scrapy.extensions.corestats", "scrapy.extensions.feedexport", "scrapy.extensions.logstats",
    "scrapy.extensions.memusage",
    "scrapy.extensions.spiderstate",
    "scrapy.extensions.throttle", "scrapy.statscollectors", "tldextract",
)  # fmt: skip
QUESTION = 1 << 20
"""Bytes of the longest question."""


def warm() -> None:
    """Import all that, so that a child has it."""
    from scrapy.utils.misc import walk_modules_iter

    for name in MODULES:
        import_module(name)
    for package in PACKAGES:
        for _ in walk_modules_iter(package):
            pass
    gc.collect()
    gc.freeze()  # a crawl begins with a look at all that stands
    assert "twisted.internet.reactor" not in sys.modules  # each crawl installs its own
    assert threading.active_count() == 1  # a fork has one alone


def serve(address: str) -> tuple[dict[str, Any], list[int]]:
    """Answer at *address* until standard input ends; in a child, return what it is to become."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(address)
        listening.listen(64)
        print("ready", flush=True)
        attending: set[int] = set()
        while True:
            if 0 in select.select([0, listening], [], [])[0]:
                raise SystemExit
            asker, _ = listening.accept()
            attending -= {pid for pid in attending if os.waitpid(pid, os.WNOHANG)[0]}
            message, files, *_ = socket.recv_fds(asker, QUESTION, 3)
            with asker:
                if not message:  # whoever asks was killed meanwhile
                    continue
                asked = json.loads(message)
                pid = _attended(asker) if asked["attended"] else _given_away(asker)
            if not pid:
                return asked, files
            for file in files:
                os.close(file)
            if asked["attended"]:
                attending.add(pid)


def _given_away(asker: socket.socket) -> int:
    """Fork a child of whoever gathers orphans, which the asker does; 0 in the child."""
    read, write = os.pipe()
    between = os.fork()
    if between == 0:
        parent = os.getpid()
        child = os.fork()
        if child:
            os.write(write, str(child).encode())
            os._exit(0)
        while os.getppid() == parent:  # nobody's yet: the program may ask who its parent is
            os.sched_yield()
        os.close(read)
        os.close(write)
        return 0
    os.close(write)
    os.waitpid(between, 0)
    with suppress(BrokenPipeError):  # it was killed meanwhile
        asker.send(os.read(read, 20))
    os.close(read)
    return between


def _attended(asker: socket.socket) -> int:
    """Fork a child, and one that tells *asker* how it ends; 0 in the child."""
    attendant = os.fork()
    if attendant:
        return attendant
    child = os.fork()
    if not child:
        return 0
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    os.closerange(null, asker.fileno())
    os.closerange(asker.fileno() + 1, 256)
    _attend(child, asker)
    os._exit(0)


def _attend(child: int, asker: socket.socket) -> None:
    """Tell *asker* how *child* ends; end it where the asker is no more."""
    ended = os.pidfd_open(child)
    if ended not in select.select([ended, asker], [], [])[0]:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    asker.send(str(code if code >= 0 else 128 - code).encode())


def become(asked: dict[str, Any], files: list[int], server: starts._Server) -> None:
    """Be the program from here on."""
    if asked["session"]:
        os.setsid()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    _open_standard_files()
    if wanted := os.environ.get("PYTHONWARNINGS"):
        sys.warnoptions = wanted.split(",")
        warnings._processoptions(sys.warnoptions)  # type: ignore[attr-defined]
    starts.children_are_forks(server)
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    if "serves" in asked:
        faulthandler.disable()
        sys.path[:] = asked["path"]
        import_module(asked["serves"]).serve()
        sys.exit()
    more = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    sys.path[:1] = ["" if "code" in asked else str(Path.cwd()), *more]
    importlib.invalidate_caches()
    if before := asked["before"]:
        module, name, data = before
        getattr(import_module(module), name)(data)
    sys.argv = asked["argv"]
    if "code" in asked:
        exec(compile(asked["code"], "<string>", "exec"), {"__name__": "__main__"})
        sys.exit()
    if asked["attended"] and not (asked["argv"][0].endswith("scrapy") and _in_a_project()):
        sys.exit(import_module("lafka.__main__").main())  # as the script that an install makes
    runpy.run_module(asked["module"], run_name="__main__", alter_sys=True)


def _in_a_project() -> bool:
    """Whether Scrapy finds a project; where it does not, its lines of the docs are Lafka's."""
    return bool(import_module("scrapy.utils.conf").closest_scrapy_cfg())


def end(code: object) -> None:
    """End as an interpreter does, but do not take apart what was imported, which takes longest.

    What is not simple is left to the interpreter: words for a code, a file that cannot be flushed.
    """
    if not isinstance(code, int | None):
        return
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    gc.collect()  # a Deferred that failed and was forgotten tells it
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        return
    os._exit((code or 0) & 0xFF)


def _open_standard_files() -> None:
    """Make new standard files, since they differ in whether they are a terminal."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        old = getattr(sys, name)
        raw = os.fdopen(number, f"{mode}b", closefd=False)
        lines = number == 2 or (number == 1 and raw.isatty())
        new = io.TextIOWrapper(raw, old.encoding, old.errors, line_buffering=lines)
        new.mode = mode  # type: ignore[misc]
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)


if __name__ == "__main__":
    faulthandler.enable()  # what crashes tells where
    warm()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # whoever started it ends it
    server = starts._Server(sys.argv[1], starts._at_start(os.environ))
    asked, files = serve(server.address)
    try:
        become(asked, files, server)
    except SystemExit as ended:
        end(ended.code)
        raise
