"""The keeper: one thread that records what comes, and stores with group commit.

Works come to its queue in order. A *call* is done at once. A *commit* is work in steps
(:mod:`lafka.storage.steps`): those that wait are taken as a batch and go side by side. All of them
do what leads to their next step, then these steps are done together, by other threads, a folder's
once for all; then all go on. Calls are done meanwhile, however long the disk takes.

One commit's order is that of its lines. Two of one key never go at the same time: those that wait
go as one, whose steps do what all of them want, and the next ones wait for these. What a commit
raises ends those of its key alone; trouble of the disk is raised in all that are under way, so
that they roll back what they had begun. Locks are tried. Who cannot have one leaves the batch, and
so does who has long work to do; of locks only one is waited for at a time. So no process ever waits
for a lock while others wait for what it has (docs/adr/0021-the-keeper.md).
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, Generic, TypeVar

from lafka.errors import MachineTrouble, StorageTrouble, machine_trouble
from lafka.storage.limits import limits_named, open_files_max
from lafka.storage.steps import FileLock, LongStep, Step, Steps

T = TypeVar("T")

FILES_OF_A_CRAWL = 24
"""Files that a crawl has open beside its connections and what it stores: logs, lists, feeds."""
FILES_OF_A_COMMIT = 3
"""Files that one has open: where it copies from, where it copies to, a draft of the summary."""
BATCH_MAX = 16
"""Commits that go side by side, where so many files may be open."""
JOINED_MAX = 64
"""Commits of one key that go as one."""
GATHERING = 0.05
"""Seconds in which commits gather behind the first that waits, to go side by side."""
SHARE = 4
"""Steps that one thread does one after the other, before it is worth waking another."""


@dataclass(slots=True, kw_only=True, eq=False)
class Call(Generic[T]):
    """Work that is done at once, in its turn; ``result`` or ``error`` is what came of it."""

    work: Callable[[], T]
    result: T | None = None
    error: BaseException | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class Commit(Generic[T]):
    """Work in steps, side by side with that of other keys; ``result`` or ``error`` as above.

    *make_steps* gives the steps for the ``argument`` of this commit and of others that wait, of
    this key and with the same *make_steps*, in order; what comes of the steps are their results.
    """

    key: Hashable
    make_steps: Callable[[Sequence[Any]], Steps[Sequence[T]]]
    argument: Any = None
    result: T | None = None
    error: BaseException | None = None
    since: float = field(default_factory=monotonic)


@dataclass(slots=True, eq=False)
class _Going:
    """Commits of one key that are under way as one."""

    commits: list[Commit[Any]]
    error: BaseException | None = None
    _steps: Steps[Sequence[Any]] | None = None
    step: Step | None = None
    """What has to be done before it goes on; None once it has ended."""

    @property
    def key(self) -> Hashable:
        return self.commits[0].key

    def joined(self, commit: Commit[Any]) -> bool:
        """Return whether *commit* goes with these; they have not begun."""
        fits = len(self.commits) < JOINED_MAX and commit.make_steps == self.commits[0].make_steps
        if fits:
            self.commits.append(commit)
        return fits

    def go_on(self, error: BaseException | None = None) -> None:
        """Go to the next step; *error* is what the last one raised."""
        try:
            if self._steps is None:
                self._steps = self.commits[0].make_steps(
                    [commit.argument for commit in self.commits]
                )
            self.step = self._steps.throw(error) if error else next(self._steps)
        except StopIteration as end:
            self.step = None
            for commit, result in zip(self.commits, end.value, strict=True):
                commit.result = result
        except BaseException as raised:
            self.step, self.error = None, machine_trouble(raised) or raised
            for commit in self.commits:
                commit.error = self.error

    @property
    def trouble(self) -> OSError | None:
        """The disk's error that ended it."""
        if isinstance(self.error, StorageTrouble):
            return self.error.error
        return self.error if isinstance(self.error, OSError) else None


Work = Call[Any] | Commit[Any]


@dataclass(frozen=True, slots=True)
class _Returned:
    """The step of one that had left the batch was done, or raised *error*."""

    going: _Going
    error: BaseException | None


@dataclass(frozen=True, slots=True)
class _Shared:
    """A share of the batch's steps was done; what steps raised, by their keys."""

    errors: dict[Hashable, BaseException]


class Keeper:
    """One thread, begun with its first work.

    *on_done* gets works that have ended, in that thread. *syncers*: threads that do steps side by
    side.
    """

    def __init__(self, on_done: Callable[[Sequence[Work]], object], *, syncers: int = 4) -> None:
        self._on_done = on_done
        self._batch_max = batch_max()
        self._most = syncers
        self._syncers = ThreadPoolExecutor(syncers, thread_name_prefix="lafka-sync")
        self._aside = ThreadPoolExecutor(syncers + 1, thread_name_prefix="lafka-aside")
        self._queue: SimpleQueue[Iterable[Work] | _Returned | _Shared | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._stopped = False
        self._refused: MachineTrouble | None = None
        self._open: set[Work] = set()  # what somebody waits for
        self._ended: list[Work] = []
        self._waiting: deque[Commit[Any]] = deque()
        self._batch: list[_Going] = []
        self._errors: dict[Hashable, BaseException] = {}
        self._shares = 0  # how many of the batch's steps threads have in hand
        self._locked_out: list[_Going] = []  # another process has the lock
        self._away: set[_Going] = set()  # a thread does its step
        self._returned: list[_Returned] = []
        self._trouble: OSError | None = None

    def put(self, works: Iterable[Work]) -> None:
        """Let *works* be done, in order. ``RuntimeError`` after ``stop``, ``MachineTrouble``."""
        if self._stopped:
            raise self._refused or RuntimeError("the keeper has stopped")
        if self._thread is None:
            # A crawl that breaks down and never stops us shall end all the same, as by a kill.
            self._thread = threading.Thread(target=self._run, name="lafka-keeper", daemon=True)
            with limits_named("a thread"):
                self._thread.start()
        self._queue.put(works)

    def stop(self) -> None:
        """Wait for what was begun or waits to be; no work is taken any more."""
        self._stopped = True
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
        self._syncers.shutdown()
        self._aside.shutdown()

    # In its thread ---------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not (self._stopped and self._is_idle and self._queue.empty()):
                for message in self._messages():
                    self._take(message)
                self._go_on()
                self._notify()
        except BaseException as error:
            self._refused = machine_trouble(error, "a thread")
            self._give_up(self._refused or error)
            if self._refused is None:
                raise

    def _notify(self) -> None:
        if self._ended:
            ended, self._ended = self._ended, []
            self._open.difference_update(ended)
            self._on_done(ended)

    def _give_up(self, error: BaseException) -> None:
        """A fault of ours: nobody shall wait for ever."""
        self._stopped = True
        while not self._queue.empty():
            message = self._queue.get()
            if message is not None and not isinstance(message, _Returned | _Shared):
                self._open.update(message)
        left = self._open.difference(self._ended)
        for work in left:
            work.error = error
        self._ended += left
        self._notify()

    @property
    def _is_idle(self) -> bool:
        return not (self._waiting or self._batch or self._locked_out or self._away)

    def _messages(self) -> list[Any]:
        """All that has come; waited for where nothing else can be done."""
        try:
            messages = [self._queue.get(timeout=self._patience())]
        except Empty:
            return []
        while not self._queue.empty():
            messages.append(self._queue.get())
        return messages

    def _take(self, message: Iterable[Work] | _Returned | _Shared | None) -> None:
        if isinstance(message, _Shared):
            self._shares -= 1
            self._errors |= message.errors
        elif isinstance(message, _Returned):
            self._returned.append(message)
        elif message is not None:
            works = list(message)
            self._open.update(works)
            for work in works:
                self._take_work(work)

    def _take_work(self, work: Work) -> None:
        if isinstance(work, Commit):
            self._waiting.append(work)
            return
        try:
            work.result = work.work()
        except BaseException as error:
            work.error = machine_trouble(error) or error
        self._ended.append(work)

    # Batches

    def _patience(self) -> float | None:
        """Seconds until a batch is to be begun; None: a message has to come first."""
        busy = self._busy()
        first = next((c for c in self._waiting if c.key not in busy), None)
        if self._batch or first is None:
            return None
        return 0.0 if self._stopped else max(0.0, first.since + GATHERING - monotonic())

    def _busy(self) -> set[Hashable]:
        """The keys of all commits that were begun and have not ended."""
        return {going.key for going in (*self._batch, *self._locked_out, *self._away)}

    def _begin_batch(self) -> bool:
        """Take who comes back, who can have its lock now, and who waits; whether there is any."""
        returned, self._returned = self._returned, []
        for message in returned:
            self._away.remove(message.going)
            self._advance(message.going, message.error)
        locked_out, self._locked_out = self._locked_out, []
        for going in locked_out:
            self._try_lock(going)
        if len(self._waiting) >= self._batch_max or self._patience() == 0:
            for going in self._next():
                self._advance(going)
        self._await_lock()
        return bool(self._batch)

    def _next(self) -> list[_Going]:
        """Those that are to be begun, in order, one of each key; they wait no longer."""
        busy, found = self._busy(), dict[Hashable, _Going]()
        left: deque[Commit[Any]] = deque()
        for commit in self._waiting:
            if commit.key in busy:
                left.append(commit)
            elif going := found.get(commit.key):
                if not going.joined(commit):
                    busy.add(commit.key)
                    left.append(commit)
            elif len(self._batch) + len(found) < self._batch_max:
                found[commit.key] = _Going([commit])
            else:
                left.append(commit)
        self._waiting = left
        return list(found.values())

    def _advance(self, going: _Going, error: BaseException | None = None) -> None:
        """Let *going* go on to its next step, in the batch, or beside it where that is long."""
        going.go_on(error)
        step = going.step
        if step is None:
            self._ended += going.commits
            self._trouble = self._trouble or going.trouble
        elif isinstance(step, FileLock):
            self._try_lock(going)
        elif isinstance(step, LongStep):
            self._leave(going)
        else:
            self._batch.append(going)

    def _try_lock(self, going: _Going) -> None:
        assert isinstance(going.step, FileLock)
        try:
            if not going.step.tried():
                self._locked_out.append(going)
                return
        except BaseException as error:
            self._advance(going, error)
            return
        self._advance(going)

    def _await_lock(self) -> None:
        """Let a thread wait for the lock of the first that could not have it, and of no other."""
        if self._locked_out and not any(isinstance(g.step, FileLock) for g in self._away):
            self._leave(self._locked_out.pop(0))

    def _leave(self, going: _Going) -> None:
        """Let *going* come back when its step is done; the batch does not wait for it."""
        self._away.add(going)
        self._aside.submit(self._do_aside, going)

    def _go_on(self) -> None:
        """Let the batch go as far as it can without its steps, and begin the next one."""
        while not self._shares:
            if self._batch:
                self._resume()
            elif not self._begin_batch():
                return
            self._roll_back()
            self._hand_out()

    def _resume(self) -> None:
        """The batch's steps are done."""
        batch, self._batch = self._batch, []
        errors, self._errors = self._errors, {}
        for going in batch:
            assert going.step is not None
            self._advance(going, errors.get(going.step.key))

    def _roll_back(self) -> None:
        """End all commits that are under way, where the disk failed one of them."""
        while self._trouble is not None:
            trouble, self._trouble = self._trouble, None
            batch, self._batch = self._batch, []
            for going in batch:
                self._advance(going, type(trouble)(*trouble.args))

    def _hand_out(self) -> None:
        """Give the batch's steps to threads, one of each key."""
        steps = list({going.step.key: going.step for going in self._batch if going.step}.values())
        if not steps:
            return
        count = min(self._most, -(-len(steps) // SHARE))
        self._shares = count
        for first in range(count):
            self._syncers.submit(self._do_share, steps[first::count])

    # In threads of its own -------------------------------------------------------------------

    def _do_share(self, steps: Sequence[Step]) -> None:
        errors: dict[Hashable, BaseException] = {}
        for step in steps:
            try:
                step.do()
            except BaseException as error:
                errors[step.key] = error
        self._queue.put(_Shared(errors))

    def _do_aside(self, going: _Going) -> None:
        assert going.step is not None
        raised: BaseException | None = None
        try:
            going.step.do()
        except BaseException as error:
            raised = error
        self._queue.put(_Returned(going, raised))


def batch_max() -> int:
    """Return how many commits go side by side: fewer where few files may be open."""
    return min(BATCH_MAX, max(1, (open_files_max() - FILES_OF_A_CRAWL) // (2 * FILES_OF_A_COMMIT)))


def all_done(commits: Sequence[Commit[Any]]) -> None:
    """Do *commits* side by side, and come back when all have ended; what they raise is in them."""
    keeper = Keeper(lambda _: None)
    keeper.put(commits)
    try:
        keeper.stop()
    except BaseException:  # Ctrl-C: they end in order all the same
        keeper.stop()
        raise
