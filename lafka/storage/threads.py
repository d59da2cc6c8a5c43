"""Threads for slow work, awaited from the reactor."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any, ParamSpec, TypeVar

from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThreadPool
from twisted.python.failure import Failure
from twisted.python.threadpool import ThreadPool

P = ParamSpec("P")
T = TypeVar("T")


class Threads:
    """At most *count* threads, started when there is work; one keeps its work in order."""

    def __init__(self, name: str, count: int) -> None:
        self._pool = ThreadPool(minthreads=0, maxthreads=count, name=name)
        self._started = False

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What *work* returns or raises, done in a thread."""
        from twisted.internet import reactor  # noqa: PLC0415  Scrapy installs it late

        if not self._started:
            self._pool.start()
            self._started = True
        deferred: Any = deferToThreadPool(reactor, self._pool, work, *args, **kwargs)
        result: T = await maybe_deferred_to_future(deferred)
        return result

    def stop(self) -> None:
        """Wait for what was begun; no work is taken any more."""
        if self._started:
            self._pool.stop()


async def run_aside(name: str, work: Callable[[], T]) -> T:
    """What *work* returns or raises, done in a thread that nothing waits for at the end.

    For what can block for ever, as reading a pipe does.
    """
    from twisted.internet import reactor  # noqa: PLC0415  Scrapy installs it late

    deferred: Deferred[T] = Deferred()

    def run() -> None:
        try:
            tell = partial(deferred.callback, work())
        except BaseException:
            tell = partial(deferred.errback, Failure())  # type: ignore[no-untyped-call]
        reactor.callFromThread(tell)

    threading.Thread(target=run, name=name, daemon=True).start()
    return await maybe_deferred_to_future(deferred)
