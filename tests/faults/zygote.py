"""A process that has imported all that a crawl needs, and becomes one, in a child, when asked.

A start of Python and Scrapy takes seconds; this a tenth of one. What the child runs is Scrapy's own
command line. Started by ``crawls``; speaks JSON lines.
"""

from __future__ import annotations

import gc
import json
import os
import pickle
import signal
import sys
from base64 import b64decode
from importlib import import_module
from typing import Any, TextIO

from scrapy.utils.misc import walk_modules_iter

from lafka.storage import keeper
from tests.faults.stepcalls import Steps
from tests.faults.storecalls import Watch

PACKAGES = ("lafka.commands", "lafka.politeness", "scrapy.commands",
            "scrapy.downloadermiddlewares", "scrapy.spidermiddlewares")  # fmt: skip
MODULES = (
    "lafka.runs.feed", "lafka.pipelines", "lafka.runs.progress",
    "lafka.papers.archive.repairs", "lafka.spiders.futli", "lafka.capture.handler", "lxml.html",
    "protego", "queuelib", "scrapy.cmdline",
    "scrapy.core.downloader.handlers.http11", "scrapy.core.scheduler",
    "scrapy.extensions.closespider",
    "scrapy.extensions.corestats", "scrapy.extensions.feedexport", "scrapy.extensions.logstats",
    "scrapy.extensions.memusage",
    "scrapy.extensions.spiderstate",
    "scrapy.extensions.throttle", "scrapy.statscollectors", "tldextract",
)  # fmt: skip

LONG = 3.0
"""Seconds in which a batch of a set size gathers: until it is whole, or nothing more comes."""


def warm() -> None:
    """Import all that, so that a child has it."""
    for name in MODULES:
        import_module(name)
    for package in PACKAGES:
        for _ in walk_modules_iter(package):
            pass
    gc.collect()
    gc.freeze()  # a crawl begins with a look at all that stands
    assert "twisted.internet.reactor" not in sys.modules  # each crawl installs its own


def _become(request: dict[str, Any]) -> None:
    """Be a crawl from here on."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for fd, name in ((0, "/dev/null"), (1, request["log"]), (2, request["log"])):
        opened = os.open(name, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(opened, fd)
        os.close(opened)
    if request["hold"]:
        os.kill(os.getpid(), signal.SIGSTOP)
    if request["plan"]:
        watch = Watch(pickle.loads(b64decode(request["plan"])))
        watch.install()
        Steps(watch).install()
        if watch.plan.batch:
            keeper.BATCH_MAX, keeper.GATHERING = watch.plan.batch, LONG
    from scrapy.cmdline import execute

    execute(["scrapy", *request["arguments"]])


def serve(questions: TextIO, answers: TextIO) -> None:
    living: set[int] = set()
    for line in questions:
        request = json.loads(line)
        if "wait" in request:
            pid, status, usage = os.wait4(request["wait"], 0)
            living.discard(pid)
            told = {"code": os.waitstatus_to_exitcode(status), "kib": usage.ru_maxrss}
        else:
            pid = os.fork()
            if pid == 0:
                code = 70
                try:
                    questions.close()
                    _become(request)
                except SystemExit as end:
                    code = end.code if isinstance(end.code, int) else bool(end.code)
                except BaseException:
                    sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
                finally:
                    sys.stdout.flush()
                    sys.stderr.flush()
                    os._exit(code)
            living.add(pid)
            told = {"pid": pid}
        print(json.dumps(told), file=answers, flush=True)
    for pid in living:
        os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    warm()
    replies = os.fdopen(os.dup(1), "w")
    serve(sys.stdin, replies)
