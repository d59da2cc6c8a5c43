"""Threads for slow work, and the keeper, awaited from the crawl.

In Scrapy's asyncio loop, or by any reactor of Twisted.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import copy_context
from functools import partial
from typing import Any, ParamSpec, TypeVar

from scrapy.utils.asyncio import is_asyncio_available
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from lafka.errors import MachineTrouble
from lafka.storage.children import Children
from lafka.storage.keeper import Call, Commit, Keeper, Work
from lafka.storage.limits import limits_named
from lafka.storage.steps import Steps

P = ParamSpec("P")
T = TypeVar("T")
W = TypeVar("W")


class Threads:
    """At most *count* threads, started when there is work; one keeps its work in order."""

    def __init__(self, name: str, count: int) -> None:
        self._executor = ThreadPoolExecutor(count, thread_name_prefix=name)

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what *work* returns or raises, done in a thread, with the caller's context
        variables.

        It is done even where its caller is cancelled meanwhile. ``RuntimeError`` after ``stop``.
        """
        call = partial(copy_context().run, work, *args, **kwargs)
        with limits_named("a thread"):
            submitted = self._executor.submit(call)
        with limits_named():
            return await awaited(submitted)

    def stop(self) -> None:
        """Wait for what was begun or waits to be; no work is taken any more."""
        self._executor.shutdown()


class ThreadedChildren:
    """At most *count* children that run ``serve()`` of *module*, asked in as many threads."""

    def __init__(self, name: str, module: str, count: int) -> None:
        self._threads = Threads(name, count)
        self._children = Children(module, count)

    def cut(self) -> None:
        """Answer nothing any more, to whoever waits either."""
        self._children.cut()

    def stop(self) -> None:
        """Wait for what was begun; end the children."""
        self._threads.stop()
        self._children.stop()


class _Promise:
    """Awaited from the crawl, kept in the thread of its loop."""

    __slots__ = ("awaited",)

    def __init__(self) -> None:
        self.awaited: asyncio.Future[Any] | Deferred[Any] = (
            asyncio.get_running_loop().create_future() if is_asyncio_available() else Deferred()
        )

    def keep(self, result: Any = None, error: BaseException | None = None) -> None:
        """Give who waits what came of it; nobody does where the caller was cancelled meanwhile."""
        awaited = self.awaited
        if isinstance(awaited, Deferred):
            if not awaited.called:
                awaited.callback(result if error is None else Failure(error))  # type: ignore[no-untyped-call]
        elif not awaited.done():
            awaited.set_result(result) if error is None else awaited.set_exception(error)


class AsyncKeeper:
    """A keeper's works, awaited from the crawl: those that come together wake it once.

    *syncers*: see :class:`lafka.storage.keeper.Keeper`.
    """

    def __init__(self, syncers: int = 4) -> None:
        self._keeper = Keeper(self._on_done, syncers=syncers)
        self._promises: dict[Work, _Promise] = {}
        self._waiting: list[Work] = []
        self._from_thread: Callable[..., object] | None = None

    async def call(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what *work* returns or raises, done after all calls that came before it.

        It is done even where its caller is cancelled meanwhile. ``RuntimeError`` after ``stop``.
        """
        result: T = await self._put(Call(work=partial(work, *args, **kwargs)))
        return result

    async def commit(
        self, key: Hashable, make_steps: Callable[[Sequence[W]], Steps[Sequence[T]]], argument: W
    ) -> T:
        """Return what comes of the steps that *make_steps* gives for *argument*, side by side
        with other keys'.

        *make_steps* may be given several that go as one: see :class:`lafka.storage.keeper.Commit`.
        Else as for :meth:`call`.
        """
        result: T = await self._put(Commit(key=key, make_steps=make_steps, argument=argument))
        return result

    def _put(self, work: Work) -> Awaitable[Any]:
        promise = self._promises[work] = _Promise()
        self._waiting.append(work)
        if len(self._waiting) == 1:
            self._flush_soon()
        return promise.awaited

    def _flush_soon(self) -> None:
        """Hand the keeper what comes until the loop has gone round."""
        self._from_thread = _from_thread()
        if is_asyncio_available():
            asyncio.get_running_loop().call_soon(self._flush)
        else:
            the_reactor().callLater(0, self._flush)

    def _flush(self) -> None:
        works, self._waiting = self._waiting, []
        if not works:
            return
        try:
            self._keeper.put(works)
        except (MachineTrouble, RuntimeError) as error:
            for work in works:
                work.error = error
            self._notify(works)

    def _on_done(self, works: Sequence[Work]) -> None:
        assert self._from_thread is not None
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._from_thread(self._notify, works)

    def _notify(self, works: Sequence[Work]) -> None:
        for work in works:
            self._promises.pop(work).keep(work.result, work.error)

    def stop(self) -> None:
        """Wait for what was begun or waits to be; no work is taken any more."""
        self._flush()
        self._keeper.stop()


class ByteBudget:
    """Bytes in somebody's hands, of which there shall be no more than *most* before others come."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = 0
        self._waiting: list[_Promise] = []

    async def wait(self) -> None:
        """Come back when there is room."""
        while self._held >= self._most:
            promise = _Promise()
            self._waiting.append(promise)
            await promise.awaited

    @contextmanager
    def holding(self, count: int) -> Iterator[None]:
        """Hold *count* bytes."""
        self._held += count
        try:
            yield
        finally:
            self._held -= count
            if self._held < self._most:
                waiting, self._waiting = self._waiting, []
                for promise in waiting:
                    promise.keep()


async def run_aside(name: str, work: Callable[[], T]) -> T:
    """Return what *work* returns or raises, done in a thread that nothing waits for at the end.

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

    with limits_named("a thread"):
        threading.Thread(target=run, name=name, daemon=True).start()
    return await awaited(future)


def the_reactor() -> Any:
    """Return the reactor of the crawl: Twisted's, which Scrapy installs after our imports."""
    from twisted.internet import reactor  # noqa: PLC0415

    return reactor


def awaited(future: Future[T]) -> Awaitable[T]:
    """Return what comes of *future*, in the thread of the loop; it cannot be called off."""
    promise, hand_over = _Promise(), _from_thread()

    def tell(done: Future[T]) -> None:
        error = done.exception()
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            hand_over(promise.keep, None if error else done.result(), error)

    future.add_done_callback(tell)
    return promise.awaited


def _from_thread() -> Callable[..., object]:
    """Return what calls a function in the thread of the loop, from any other."""
    if is_asyncio_available():
        return asyncio.get_running_loop().call_soon_threadsafe
    return the_reactor().callFromThread  # type: ignore[no-any-return]
