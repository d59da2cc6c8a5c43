"""The one thread in which a crawl's fobis are kept: what comes within half a second is a group."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

from lafka.archec.files.fobi_store import FobiFetch, FobiKeeper, FobiOutcome
from lafka.archec.gather.gathering import GROUP
from lafka.errors import RecordsAway, StorageTrouble
from lafka.storage.threads import awaited

WAIT = 0.5
"""Seconds that an answer waits at most for others to share its syncs."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waiting:
    got: FobiFetch
    owner: int
    kept: Future[FobiOutcome | None] = field(default_factory=Future)


class FobiThread:
    """Begins by *begin*, which recovers what killed runs left and gives the keeper.

    *release* is called with the owner of what was acknowledged: its raw log may go.
    """

    def __init__(self, begin: Callable[[], FobiKeeper], release: Callable[[int], object]) -> None:
        self._begin, self._release = begin, release
        self._queue: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._begun: Future[None] = Future()
        self._ended: Future[list[int]] = Future()
        self._trouble: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="lafka-obis", daemon=True)
        self._keeper: FobiKeeper | None = None

    def begin(self) -> Awaitable[None]:
        """``StorageTrouble``, ``RecordsAway``, ``BadJournal``."""
        self._thread.start()
        return awaited(self._begun)

    @property
    def has_begun(self) -> bool:
        return self._keeper is not None

    def keep(self, got: FobiFetch, owner: int) -> Awaitable[FobiOutcome | None]:
        """Return what became of it, when that is acknowledged; None where it could not be kept,
        which is told, and its raw log stays. ``StorageTrouble``, ``RecordsAway``.
        """
        waiting = _Waiting(got=got, owner=owner)
        self._queue.put(waiting)
        return awaited(waiting.kept)

    def end(self) -> Awaitable[list[int]]:
        """The tists of the gatherings, when the last one is closed; raises as ``keep`` does."""
        self._queue.put(None)
        return awaited(self._ended)

    # In the thread ----------------------------------------------------------------------------

    def _work(self) -> None:
        try:
            self._keeper = self._begin()
        except BaseException as error:
            self._begun.set_exception(error)
            return
        self._begun.set_result(None)
        ends = False
        while not ends:
            batch, ends = self._batch()
            self._keep_all(batch)
        self._close()

    def _batch(self) -> tuple[list[_Waiting], bool]:
        """Return what came together, and whether nothing follows."""
        first = self._queue.get()
        batch = [] if first is None else [first]
        until = time.monotonic() + WAIT
        while batch and len(batch) < GROUP:
            try:
                more = self._queue.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                return batch, False
            if more is None:
                return batch, True
            batch.append(more)
        return batch, first is None

    def _keep_all(self, batch: list[_Waiting]) -> None:
        assert self._keeper is not None
        try:
            if self._trouble:
                raise self._trouble
            kept = [(waiting, self._take(waiting)) for waiting in batch]
            self._keeper.commit()
            for waiting, one in kept:
                if one is not None:
                    self._release(waiting.owner)
        except BaseException as error:  # whoever waits shall not wait for ever
            self._trouble = self._trouble or error
            for waiting in batch:
                waiting.kept.set_exception(error)
            return
        for waiting, one in kept:
            waiting.kept.set_result(one)

    def _take(self, waiting: _Waiting) -> FobiOutcome | None:
        assert self._keeper is not None
        try:
            return self._keeper.take(waiting.got)
        except (StorageTrouble, RecordsAway):
            raise
        except OSError as error:
            path = waiting.got.exchanges[-1].response if waiting.got.exchanges else None
            raise StorageTrouble(error.filename or (path.path if path else ""), error) from error
        except Exception:
            logger.exception("%s: not kept", waiting.got.uri)
            return None

    def _close(self) -> None:
        assert self._keeper is not None
        try:
            if self._trouble:
                raise self._trouble
            self._keeper.end()
        except BaseException as error:
            self._ended.set_exception(error)
        else:
            self._ended.set_result(self._keeper.tists)
        finally:
            self._keeper.close()
