from __future__ import annotations

import asyncio
import gc
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path

import pytest

from lafka.storage.steps import FolderSync, Steps
from lafka.storage.threads import AsyncKeeper, ByteBudget, Threads, run_aside
from tests import starts
from tests.waiting import LIMIT

asked = ContextVar("asked", default="")


@pytest.fixture
def one() -> Iterator[Threads]:
    threads = Threads("lafka-test", 1)
    yield threads
    threads.stop()


def fail(text: str) -> None:
    raise LookupError(text)


def test_work_is_done_in_a_thread_that_bears_the_name(one: Threads) -> None:
    def work(first: int, *, second: int) -> tuple[int, str]:
        return first + second, threading.current_thread().name

    total, name = asyncio.run(one.run(work, 1, second=2))
    assert (total, name) == (3, "lafka-test_0")


def test_what_work_raises_is_raised(one: Threads) -> None:
    with pytest.raises(LookupError, match="nothing"):
        asyncio.run(one.run(fail, "nothing"))


def test_one_thread_keeps_its_work_in_order(one: Threads) -> None:
    done: list[int] = []

    async def ask() -> None:
        await asyncio.gather(*(one.run(done.append, n) for n in range(200)))

    asyncio.run(ask())
    assert done == list(range(200))


@pytest.mark.parametrize("count", [1, 2, 4])
def test_so_many_threads_work_at_once_and_no_more(count: int) -> None:
    threads = Threads("lafka-test", count)
    barrier = threading.Barrier(count)
    lock, now, most = threading.Lock(), 0, 0

    def work() -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        barrier.wait(LIMIT)  # passed only where all of them are at work
        with lock:
            now -= 1

    async def ask() -> None:
        await asyncio.gather(*(threads.run(work) for _ in range(count * 3)))

    asyncio.run(ask())
    threads.stop()
    assert most == count


def test_no_thread_is_there_before_there_is_work_or_after_the_stop() -> None:
    def ours() -> list[str]:
        return [t.name for t in threading.enumerate() if t.name.startswith("lafka-idle")]

    threads = Threads("lafka-idle", 3)
    assert ours() == []
    asyncio.run(threads.run(int))
    assert ours() == ["lafka-idle_0"]
    threads.stop()
    assert ours() == []


def test_a_stop_waits_for_what_was_handed_over() -> None:
    threads = Threads("lafka-test", 1)
    begun, may_go_on = threading.Event(), threading.Event()
    done: list[str] = []

    def slow() -> None:
        begun.set()
        assert may_go_on.wait(LIMIT)
        done.append("slow")

    async def ask() -> None:
        tasks = [
            asyncio.ensure_future(threads.run(slow)),
            asyncio.ensure_future(threads.run(done.append, "waiting")),
        ]
        while not begun.is_set():
            await asyncio.sleep(0)
        release = threading.Thread(target=may_go_on.set)
        release.start()
        threads.stop()
        assert done == ["slow", "waiting"]
        await asyncio.gather(*tasks)
        release.join()
        with pytest.raises(RuntimeError):
            await threads.run(done.append, "late")

    asyncio.run(ask())
    assert done == ["slow", "waiting"]


def test_a_stop_with_nothing_begun_returns() -> None:
    threads = Threads("lafka-test", 1)
    threads.stop()
    threads.stop()


def test_work_is_done_where_its_caller_is_cancelled(one: Threads) -> None:
    """A record of the raw WARC is written, or its spool would never be closed."""
    begun, may_go_on = threading.Event(), threading.Event()
    done: list[str] = []

    def slow() -> None:
        begun.set()
        assert may_go_on.wait(LIMIT)

    async def ask() -> None:
        first = asyncio.ensure_future(one.run(slow))
        second = asyncio.ensure_future(one.run(done.append, "waited"))
        while not begun.is_set():
            await asyncio.sleep(0)
        first.cancel()
        second.cancel()
        results = await asyncio.gather(first, second, return_exceptions=True)
        assert [type(result) for result in results] == [asyncio.CancelledError] * 2
        may_go_on.set()
        await one.run(done.append, "next")

    asyncio.run(ask())
    assert done == ["waited", "next"]


def test_what_work_raises_for_a_caller_who_was_cancelled_is_no_news() -> None:
    threads, going, news = Threads("one", 1), threading.Event(), list[object]()

    def fail() -> None:
        going.wait()
        raise ValueError("nobody waits for it")

    async def cancelled() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: news.append(context))
        task = asyncio.ensure_future(threads.run(fail))
        await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        going.set()
        await asyncio.get_running_loop().run_in_executor(None, threads.stop)
        await asyncio.sleep(0)
        gc.collect()

    asyncio.run(cancelled())
    assert news == []


def test_work_sees_the_callers_context_and_cannot_change_it(one: Threads) -> None:
    def work() -> str:
        seen = asked.get()
        asked.set("by the work")
        return seen

    async def ask(text: str) -> tuple[str, str]:
        asked.set(text)
        return await one.run(work), asked.get()

    async def both() -> list[tuple[str, str]]:
        return await asyncio.gather(ask("a"), ask("b"))

    assert asyncio.run(both()) == [("a", "a"), ("b", "b")]


def test_what_is_done_aside_is_told() -> None:
    async def name() -> str:
        return await run_aside("lafka-aside", lambda: threading.current_thread().name)

    assert asyncio.run(name()) == "lafka-aside"
    with pytest.raises(LookupError, match="nothing"):
        asyncio.run(run_aside("lafka-aside", lambda: fail("nothing")))


ASIDE = """
import asyncio, os
from lafka.storage.threads import run_aside

async def main():
    reading, _ = os.pipe()
    waiting = asyncio.ensure_future(run_aside("lafka-aside", lambda: os.read(reading, 1)))
    await asyncio.sleep(0)
    waiting.cancel()

asyncio.run(main())
print("ends")
"""

REACTOR = """
import sys
from scrapy.utils.reactor import install_reactor
install_reactor(sys.argv[1])
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from scrapy.utils.defer import deferred_from_coro
from lafka.storage.steps import LongStep
from lafka.storage.threads import AsyncKeeper, ByteBudget, Threads, run_aside
import threading

threads = Threads("lafka-test", 2)

def fail():
    raise LookupError("nothing")

async def main():
    loop = threading.current_thread()
    print(await threads.run(lambda: threading.current_thread() is not loop))
    print(await run_aside("lafka-aside", lambda: threading.current_thread().name))
    for failing in (threads.run(fail), run_aside("lafka-aside", fail)):
        try:
            await failing
        except LookupError as error:
            print(error, threading.current_thread() is loop)
    threads.stop()
    await kept(loop)

def steps(whats):
    yield LongStep(int)
    return whats

async def kept(loop):
    keeping, room = AsyncKeeper(), ByteBudget(1)
    with room.holding(1):
        waiting = room.wait()
        call, commit = keeping.call(threading.current_thread), keeping.commit("a", steps, "kept")
        print(await call is not loop, await commit)
    await waiting
    try:
        await keeping.call(fail)
    except LookupError as error:
        print(error, threading.current_thread() is loop)
    keeping.stop()

def started():
    deferred_from_coro(main()).addBoth(lambda result: (print(result), reactor.stop()))

reactor.callWhenRunning(started)
reactor.run()
"""


def output_of(script: str, *arguments: str) -> list[str]:
    command = [sys.executable, "-c", script, *arguments]
    return starts.run(
        command, capture_output=True, text=True, timeout=LIMIT, check=True
    ).stdout.splitlines()


def test_what_blocks_for_ever_aside_does_not_hold_the_end_of_the_process() -> None:
    assert output_of(ASIDE) == ["ends"]


@pytest.mark.parametrize(
    "reactor",
    [
        "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
        "twisted.internet.selectreactor.SelectReactor",
    ],
)
def test_work_is_awaited_from_any_reactor(reactor: str) -> None:
    told = ["True", "lafka-aside", "nothing True", "nothing True", "True kept",
            "nothing True", "None"]  # fmt: skip
    assert output_of(REACTOR, reactor) == told


# The keeper, awaited


@pytest.fixture
def keeping() -> Iterator[AsyncKeeper]:
    made = AsyncKeeper()
    yield made
    made.stop()


def test_calls_and_commits_of_a_keeper_are_awaited(keeping: AsyncKeeper, tmp_path: Path) -> None:
    def synced(texts: Sequence[str]) -> Steps[Sequence[str]]:
        for text in texts:
            (tmp_path / text).write_text(text)
        yield FolderSync(tmp_path)
        return texts

    async def ask() -> list[str]:
        return await asyncio.gather(
            keeping.call("{}{}".format, "a", 1),
            *(keeping.commit(name[0], synced, name) for name in ("b1", "b2", "c1")),
        )

    assert asyncio.run(ask()) == ["a1", "b1", "b2", "c1"]


def test_what_a_call_or_a_commit_raises_is_raised(keeping: AsyncKeeper) -> None:
    def fails(texts: Sequence[str]) -> Steps[Sequence[None]]:
        fail(*texts)
        yield FolderSync(Path())
        return [None]

    async def ask() -> list[BaseException | None]:
        return await asyncio.gather(
            keeping.call(fail, "one"),
            keeping.commit("key", fails, "two"),
            return_exceptions=True,
        )

    assert [str(error) for error in asyncio.run(ask())] == ["one", "two"]


def test_what_comes_together_wakes_the_loop_once(
    keeping: AsyncKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[int] = []
    tell = AsyncKeeper._notify
    monkeypatch.setattr(AsyncKeeper, "_notify", lambda *of: told.append(len(of[1])) or tell(*of))  # type: ignore[func-returns-value]

    async def ask() -> None:
        await asyncio.gather(*(keeping.call(int) for _ in range(100)))

    asyncio.run(ask())
    assert told == [100]


def test_a_call_whose_caller_was_cancelled_is_done_all_the_same(keeping: AsyncKeeper) -> None:
    gate, done = threading.Event(), threading.Event()

    async def ask() -> None:
        asked = asyncio.ensure_future(keeping.call(lambda: gate.wait(LIMIT) and done.set()))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        gate.set()
        await keeping.call(int)

    asyncio.run(ask())
    assert done.is_set()


def test_a_keeper_that_has_stopped_takes_no_work() -> None:
    made = AsyncKeeper()
    made.stop()
    with pytest.raises(RuntimeError, match="stopped"):
        asyncio.run(made.call(int))


def test_who_asks_for_room_waits_until_there_is_some() -> None:
    async def ask() -> list[str]:
        log: list[str] = []
        room = ByteBudget(100)

        async def other(name: str) -> None:
            await room.wait()
            log.append(name)

        await room.wait()
        with room.holding(60):
            await room.wait()
            with room.holding(60):
                others = [asyncio.ensure_future(other(name)) for name in "ab"]
                for _ in range(5):
                    await asyncio.sleep(0)
                log.append("full")
            await asyncio.gather(*others)
        return log

    assert asyncio.run(ask()) == ["full", "a", "b"]
