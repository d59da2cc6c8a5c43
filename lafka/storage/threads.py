"""Threads for slow work, awaited from the crawl: Scrapy's asyncio loop, or any Twisted reactor."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any, ParamSpec, TypeVar

from scrapy.utils.asyncio import is_asyncio_available
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

P = ParamSpec("P")
T = TypeVar("T")


class Threads:
    """At most *count* threads, started when there is work; one keeps its work in order."""

    def __init__(self, name: str, count: int) -> None:
        self._executor = ThreadPoolExecutor(count, thread_name_prefix=name)

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What *work* returns or raises, done in a thread, with the caller's context variables.

        It is done even where its caller is cancelled meanwhile. ``RuntimeError`` after ``stop``.
        """
        call = partial(copy_context().run, work, *args, **kwargs)
        return await _told(self._executor.submit(call))

    def stop(self) -> None:
        """Wait for what was begun or waits to be; no work is taken any more."""
        self._executor.shutdown()


async def run_aside(name: str, work: Callable[[], T]) -> T:
    """What *work* returns or raises, done in a thread that nothing waits for at the end.

    For what can block for ever, as reading a pipe does: the standard library's executor would wait
    for it when the interpreter exits.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=run, name=name, daemon=True).start()
    return await _told(future)


def _told(future: Future[T]) -> Awaitable[T]:
    """What comes of *future*, told in the thread of the loop; its work cannot be called off."""
    if is_asyncio_available():
        return asyncio.shield(asyncio.wrap_future(future))
    from twisted.internet import reactor  # noqa: PLC0415  Scrapy installs it late

    deferred: Deferred[T] = Deferred()

    def tell(done: Future[T]) -> None:
        error = done.exception()
        result: Any = done.result() if error is None else Failure(error)  # type: ignore[no-untyped-call]
        reactor.callFromThread(deferred.callback, result)

    future.add_done_callback(tell)
    return deferred
