"""All that an archive holds, as it is asked for: its papers, its futs, how its lines ended.

In constant memory, but for ``outcomes``, which takes some 200 bytes a line of the list. Writers may
be at work meanwhile: each suwaf is whole, each feed is read up to its last whole line.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lafka.errors import BadChoice, BadPid, BadSuwaf, KeeperError, LafkaError, NotHeld
from lafka.papers.archive.suwafs import Fut, Suwaf, begins_time
from lafka.papers.lists.futlis import host_of
from lafka.papers.outcomes import Outcome
from lafka.pids import Pid, Scheme
from lafka.storage.folders import names_below

Problem = Callable[[Exception], object]
"""Called with what cannot be read; without one it is raised, and the reading ends."""
FUT, ANY = "fut", "any"
"""Labels to ask for, beside those that a PDF has: none of them, whatever it is thought to be."""
_SHIFT = 48
"""Bits of a place within a feed: 256 TiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """A paper of an archive: ``suwaf`` is its summary, ``warc`` the path of its WARC."""

    pid: Pid
    warc: Path
    suwaf: Suwaf

    def chosen(self, wanted: FutFilter) -> Iterator[tuple[str, str, Fut]]:
        """Those of its futs that are *wanted*: futli, time, fut."""
        for futli, times in self.suwaf.futlis.items():
            if wanted.host is None or host_of(futli) == wanted.host:
                yield from ((futli, time, fut) for time, fut in wanted.of(times))


@dataclass(frozen=True, slots=True, kw_only=True)
class FutFilter:
    """A choice of futs. ``since`` and ``until`` are as the times of a suwaf, or beginnings of them,
    without the Z; ``host`` the futli's.

    ``label`` None is any. ``latest``: of each futli the last one alone.
    """

    since: str = ""
    until: str = ""
    host: str | None = None
    label: str | None = ""
    latest: bool = True

    @classmethod
    def parse(
        cls,
        since: datetime | str | None,
        until: datetime | str | None,
        host: str | None,
        label: str | None,
        *,
        latest: bool,
    ) -> FutFilter:
        """``BadChoice`` for a time neither aware nor as a suwaf's, or a *host* that is none."""
        if host and not _HOST.fullmatch(host):
            why = "no host as www.example.org, without scheme, port and path"
            raise BadChoice(f"host {host!r}: {why}")
        return cls(
            since=_begin_of_time("since", since),
            until=_begin_of_time("until", until),
            host=host.lower() if host else None,
            label=None if label in (None, ANY) else "" if label == FUT else label,
            latest=latest,
        )

    def of(self, times: Mapping[str, Fut]) -> Iterable[tuple[str, Fut]]:
        """Those of the futs of one futli, oldest first."""
        found = [
            (time, fut)
            for time, fut in times.items()
            if (self.label is None or fut.label == self.label)
            and time >= self.since
            and (not self.until or time[: len(self.until)] <= self.until)
        ]
        if len(found) > 1:
            found.sort(key=lambda one: one[0][:-1])
        return found[-1:] if self.latest else found


_HOST = re.compile(r"[\w.-]+|[0-9a-f:.]*:[0-9a-f:.]*:[0-9a-f:.]*", re.IGNORECASE)
"""A name, or an address of IPv6 as ``urlsplit`` gives it."""


def _begin_of_time(name: str, time: datetime | str | None) -> str:
    """Return *time* as a suwaf has it, without the Z; ``BadChoice``."""
    if isinstance(time, datetime):
        if time.tzinfo is None:
            raise BadChoice(f"{name} {time}: a time without its zone")
        time = time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")
    if time and not begins_time(time):
        why = "no time as YYYY-MM-DDThh:mm:ssZ, or a beginning of one"
        raise BadChoice(f"{name} {time!r}: {why}")
    return (time or "").removesuffix("Z")


LATEST = FutFilter()
"""The last fut of each futli that is thought to be one."""


def papers(root: Path, scheme: Scheme, problem: Problem | None = None) -> Iterator[Paper]:
    """Every paper below *root* that has a suwaf, sorted within each folder.

    Links are followed (docs/adr/0013). ``BadSuwaf``, ``BadPid`` where a file is no paper's.
    """
    base = f"{root}/suwaf/"
    for name in names_below(f"{root}/suwaf", _report_lost(problem)):
        if name.endswith(".json") and "/." not in name[len(base) - 1 :]:
            try:
                yield _paper(name, name[len(base) : -5], root, scheme)
            except FileNotFoundError:  # just gone
                continue
            except (KeeperError, BadPid) as error:
                if problem is None:
                    raise
                problem(error)


def _report_lost(problem: Problem | None) -> Callable[[Path], object]:
    def lost(link: Path) -> None:
        error = BadSuwaf(link, "a link that leads nowhere")
        if problem is None:
            raise error
        problem(error)

    return lost


def _paper(name: str, relative: str, root: Path, scheme: Scheme) -> Paper:
    """The paper whose suwaf is the file *name*, which is *relative* to all suwafs."""
    with open(name, "rb", buffering=0) as file:  # noqa: PTH123  half the cost
        data = file.read()
    try:
        values = json.loads(data.decode())
        text = next(key for key in values if key != "_warc")
        pid = scheme.pid(text)
        if pid.path != relative:
            raise ValueError(f"it is of {text!r}, which has another path")
        suwaf = Suwaf.of_json(values, pid)
    except (ValueError, TypeError, StopIteration, RecursionError) as error:
        raise BadSuwaf(Path(name), f"not a suwaf: {error or 'it names no paper'}") from None
    return Paper(pid=pid, warc=Path(f"{root}/warc/{relative}.warc"), suwaf=suwaf)


def papers_of(
    root: Path, pids: Iterable[Pid | BadPid], problem: Problem | None = None
) -> Iterator[Paper]:
    """The papers of *pids*, in their order; ``NotHeld`` for one that is not there, ``BadSuwaf``."""
    for pid in pids:
        try:
            if isinstance(pid, BadPid):
                raise pid
            suwaf = Suwaf.load(root / "suwaf" / f"{pid.path}.json", pid)
            if suwaf is None:
                raise NotHeld(f"{pid}: not in the archive at {root}")
            yield Paper(pid=pid, warc=root / "warc" / f"{pid.path}.warc", suwaf=suwaf)
        except (KeeperError, NotHeld, BadPid) as error:
            if problem is None:
                raise
            problem(error)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedFut:
    """A PDF as a line of a feed names it: ``length`` bytes at ``start`` of the paper's WARC.

    ``new``: stored then, not held before. ``label`` is empty for what is thought to be the fut.
    """

    url: str
    digest: str
    start: int
    length: int
    new: bool
    label: str = ""

    @classmethod
    def of_json(cls, values: Mapping[str, Any]) -> FeedFut:
        return cls(
            url=values["url"],
            digest=values["digest"],
            start=values["s"],
            length=values["l"],
            new=values["new"],
            label=values.get("label", ""),
        )

    def as_json(self) -> dict[str, Any]:
        values = {"url": self.url, "digest": self.digest, "s": self.start, "l": self.length}
        return {**values, "new": self.new, **({"label": self.label} if self.label else {})}


@dataclass(frozen=True, slots=True, kw_only=True)
class LastOutcome:
    """The last end of a line of a list: the keys of the outcome feed, and its ``run``.

    ``pid`` is text, for a ``bad-pid`` is none; ``as_written`` the list's own text of the
    futli. ``candidates`` are the objects of the feed.
    """

    run: str
    pid: str
    futli: str
    outcome: Outcome
    time: str
    futs: tuple[FeedFut, ...]
    splap: str | None
    candidates: tuple[Mapping[str, Any], ...]
    capped: bool
    requests: int
    error: str | None
    as_written: str


def outcomes(
    root: Path, scheme: Scheme, since: str = "", problem: Problem | None = None
) -> Iterator[LastOutcome]:
    """Yield how each line of all runs ended at last, the oldest first: of a pid and futli the last
    line.

    A line whose fut was held names that fut. *since*: of runs begun by that time or later, as
    their names have it, ``20261120T``.
    """
    named = [path for path in sorted((root / "runs").glob("*.jsonl")) if path.name >= since]
    feeds = [path for path in named if path.is_file()]
    last: dict[bytes, int] = {}
    for number, feed in enumerate(feeds):
        for place, values in _lines(feed):
            last[_key(values)] = number << _SHIFT | place
    for number, feed in enumerate(feeds):
        for place, values in _lines(feed):
            if last.get(_key(values)) == number << _SHIFT | place:
                yield _last_outcome(feed.stem, values, root, scheme, problem)


def _lines(feed: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The whole lines of *feed* that are those of a feed: where each begins, and its object."""
    place = 0
    with feed.open("rb") as lines:
        for line in lines:
            with suppress(ValueError, RecursionError):
                values = json.loads(line) if line.endswith(b"\n") else None
                if isinstance(values, dict) and values.get("outcome") in _WORDS:
                    yield place, values
            place += len(line)


_WORDS = frozenset(map(str, Outcome))


def _key(values: Mapping[str, Any]) -> bytes:
    text = f"{values.get('pid')}\t{values.get('futli')}"
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).digest()


def _last_outcome(
    run: str, values: dict[str, Any], root: Path, scheme: Scheme, problem: Problem | None
) -> LastOutcome:
    futs = tuple(map(FeedFut.of_json, values.get("futs") or ()))
    if not futs and values["outcome"] == Outcome.FUT:
        try:
            futs = _held_futs(scheme.pid(values["pid"]), values["futli"], root)
        except (LafkaError, KeeperError) as error:
            if problem is None:
                raise
            problem(error)
    return LastOutcome(
        run=run,
        pid=str(values.get("pid") or ""),
        futli=str(values.get("futli") or ""),
        outcome=Outcome(values["outcome"]),
        time=str(values.get("time") or ""),
        futs=futs,
        splap=values.get("splap"),
        candidates=tuple(values.get("candidates") or ()),
        capped=bool(values.get("capped")),
        requests=int(values.get("requests") or 0),
        error=values.get("error"),
        as_written=str(values.get("as_written") or values.get("futli") or ""),
    )


def _held_futs(pid: Pid, futli: str, root: Path) -> tuple[FeedFut, ...]:
    """The fut that the archive has of *futli*; none where its paper is gone."""
    suwaf = Suwaf.load(Path(os.fspath(root), "suwaf", f"{pid.path}.json"), pid)
    found = [*LATEST.of(suwaf.futlis.get(futli, {}))] if suwaf else []
    return tuple(
        FeedFut(url=fut.url, digest=fut.digest, start=fut.s, length=fut.l, new=False)
        for _, fut in found
    )
