"""The outcome feeds: each line is as it was written, and what it acknowledges is there."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO

from lafka.papers.checking.paper import HeldFut, futs_in
from lafka.pids import Pid, Scheme
from lafka.witness.problems import FileProblem, problem

_FORMAT = 1
_SUFFIX = ".jsonl"
_DEAD = ".dead.jsonl"
"""What ends the names of messages that were no requests: no feed."""
_CHAINED = re.compile(rb'(\{.*), "chain": "(sha256:[0-9a-f]{64})"\}\n', re.S)
_KEYS = frozenset(
    ("pid", "futli", "outcome", "time", "futs", "splap", "candidates", "capped", "requests",
     "error", "as_written", "chain")
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedFeed:
    """The statements of a run's report about its feed.

    ``may_be_torn``: the run is at work, was killed, or the disk refused it something. ``chain`` is
    that of the last line and ``lines`` how many there are, None and 0 where the report does not say
    so.
    """

    may_be_torn: bool = False
    chain: str | None = None
    lines: int = 0


@dataclass(slots=True)
class FeedChain:
    """The chain along the lines of a feed (docs/formats.md): each is that of all lines before it.

    ``reached``: whether one of them was *last*; ``lost``: that there is nothing to hold them to.
    """

    last: str | None
    reached: bool = False
    lost: bool = False
    _begun: bool = False
    _before: bytes = bytes(32)

    def fits(self, line: bytes) -> bool:
        """Return whether *line* carries what it has to: nothing only before any line that does."""
        found = _CHAINED.fullmatch(line)
        if self.lost:
            return True
        if found is None:
            return not self._begun and b'"chain":' not in line
        self._begun = True
        wanted = hashlib.sha256(self._before + found[1] + b"}").digest()
        self._before = bytes.fromhex(found[2].decode().removeprefix("sha256:"))
        self.reached |= found[2].decode() == self.last
        return self._before == wanted


@dataclass(slots=True, kw_only=True)
class FeedCheck:
    """One feed under examination: ``held`` gives the futs that the suwaf of a paper names.

    Their digests and lengths count: of crawls that were merged the feed has the ``s`` of its own
    archive, and that the suwaf's is right the proof of the paper says.
    """

    path: Path
    scheme: Scheme
    held: Callable[[Pid], frozenset[HeldFut]]

    def problems(self) -> Iterator[FileProblem]:
        # The report first: a run that lives may close it while its feed is read.
        report, stated = self.path.with_suffix(".json"), StatedFeed()
        try:
            stated = _stated_by(report)
        except OSError as error:
            yield problem(report, "unreadable", error.strerror or str(error))
        except (ValueError, RecursionError) as error:
            yield problem(report, "bad-report", f"no report of a run: {error}")
        yield from self._read_feed(stated)

    def _read_feed(self, stated: StatedFeed) -> Iterator[FileProblem]:
        try:
            with self.path.open("rb") as feed:
                yield from self._read(feed, stated)
        except FileNotFoundError:
            if stated.chain is not None:
                sentence = f"missing, and its report counts {stated.lines} lines"
                yield problem(self.path, "feed-changed", sentence)
        except OSError as error:
            yield problem(self.path, "unreadable", error.strerror or str(error))

    def _read(self, feed: IO[bytes], stated: StatedFeed) -> Iterator[FileProblem]:
        chain, offset, number = FeedChain(stated.chain), 0, 0
        for number, line in enumerate(feed, 1):
            if line.endswith(b"\n") or not stated.may_be_torn:
                # A power cut may leave zeros of what was not synced yet, and lines behind them.
                chain.lost |= stated.may_be_torn and b"\0" in line
                fits = chain.fits(line)
                if not fits:
                    sentence = f"line {number} is not as it was written, or one before it is gone"
                    yield problem(self.path, "feed-changed", sentence, offset)
                yield from self._read_line(line, offset, number, fits=fits)
            offset += len(line)
        if stated.chain is not None and not chain.reached:
            sentence = f"not as it ended: its report counts {stated.lines} lines, here are {number}"
            yield problem(self.path, "feed-changed", sentence, offset)

    def _read_line(
        self, line: bytes, offset: int, number: int, *, fits: bool
    ) -> Iterator[FileProblem]:
        try:
            item = json.loads(line)
            if isinstance(item, dict) and isinstance(item.get("hit"), bool):
                return  # a result of a fileset, which its own checker looks at
            futs = frozenset((fut["digest"], fut["l"]) for fut in item["futs"] or ())
            pid = self.scheme.pid(item["pid"]) if futs else None
        except (ValueError, LookupError, TypeError, RecursionError):
            if fits:
                yield problem(self.path, "bad-feed", f"line {number} is no outcome", offset)
            return
        for key in item.keys() - _KEYS:
            yield problem(self.path, "unknown-key", f"line {number} has {key[:60]!r}", offset)
        for fut in futs - self.held(pid) if pid is not None else ():
            sentence = f"{fut[0]} of {pid} is not in its suwaf"
            yield problem(self.path, "acknowledged-lost", sentence, offset)


def verify_feeds(
    root: Path, scheme: Scheme, suwaf_of: Callable[[Pid], Path]
) -> Iterator[FileProblem]:
    """Invariant 5: every fut that an outcome line acknowledged is in its suwaf."""
    held = lru_cache(256)(lambda pid: futs_in(suwaf_of(pid)))
    folder = root / "runs"
    names = {path.with_suffix(_SUFFIX).name for path in folder.glob("*.json")}
    found = {path.name for path in folder.glob(f"*{_SUFFIX}")}
    names |= {name for name in found if not name.endswith(_DEAD)}
    for name in sorted(names):
        if not name.startswith("."):
            yield from FeedCheck(path=folder / name, scheme=scheme, held=held).problems()


def _stated_by(report: Path) -> StatedFeed:
    """OSError, or ValueError where it is no report of a run."""
    try:
        values = json.loads(report.read_bytes())
    except FileNotFoundError:  # as runs were before they had one
        return StatedFeed()
    if not isinstance(values, dict) or values.get("format") != _FORMAT:
        raise ValueError(f"not of format {_FORMAT}")
    reason, chain, lines = (values.get(key) for key in ("reason", "chain", "lines"))
    if not all(isinstance(value, str | None) for value in (reason, chain)):
        raise ValueError("reason or chain is no text")
    may_be_torn = reason in (None, "killed") or bool(values.get("troubles"))
    return StatedFeed(
        may_be_torn=may_be_torn, chain=chain, lines=lines if isinstance(lines, int) else 0
    )
