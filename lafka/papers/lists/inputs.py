"""Inputs of a crawl, which give its lines and take their outcomes: a file, or a fleet."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any, Protocol

from lafka.papers.lists.faults import hopeful
from lafka.papers.lists.futlis import Line, Shard
from lafka.pids import Scheme
from lafka.politeness.feeder import HostFeeder


class Input(Protocol):
    """The lines of a crawl, from whichever source; ``feeder`` is where they wait."""

    feeder: HostFeeder[Line] | None

    @property
    def may_begin(self) -> bool:
        """Return whether lines may be begun now; in the loop's thread."""

    def lines(self) -> Iterator[Line]:
        """Yield the lines; blocks, in the loader's thread, and ends where nothing more comes."""

    def begin(self, lines: list[Line]) -> Collection[Line]:
        """Note that *lines* begin; return those of them that are not ours any more."""

    def stumbled(self, number: int) -> None:
        """Note that the callback of the line *number* raised: the next run asks for it again."""

    def on_outcomes(self, lines: bytes) -> None:
        """Take whole lines of the outcome feed that are on the disk; in the feed's thread."""

    def report_fields(self) -> dict[str, Any]:
        """Return what the run's report says of the list when all its lines came."""

    def stop(self) -> None:
        """Let no more lines come; from any thread."""

    def close(self) -> None:
        """Send what is to be sent, and leave."""


class FileInput:
    """The lines of a list in a file or pipe, or of a *shard* of it.

    *read* opens it. *seen* is what the report says of the bytes that were read.
    """

    may_begin = True
    feeder: HostFeeder[Line] | None = None

    def __init__(
        self,
        name: str,
        read: Callable[[], Iterator[Line]],
        scheme: Scheme,
        seen: Callable[[], dict[str, Any]],
        shard: Shard | None = None,
    ) -> None:
        self._name = "standard input" if name == "-" else name
        self._read, self._scheme, self._shard = read, scheme, shard
        self._seen = seen

    def lines(self) -> Iterator[Line]:
        """Yield the lines; the list is opened at its first one, so the feeder meets what ends it.

        ``BadList``.
        """
        lines = hopeful(self._name, self._read(), self._scheme)
        yield from filter(self._shard.holds, lines) if self._shard else lines

    def begin(self, lines: list[Line]) -> Collection[Line]:  # noqa: ARG002
        return ()

    def report_fields(self) -> dict[str, Any]:
        return self._seen()

    def _pass(self, *_: object, **__: object) -> None:
        """Do nothing: the outcome feed is all, and whoever reads the list closes it."""

    stumbled = on_outcomes = stop = close = _pass
