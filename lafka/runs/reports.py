"""The report of a run, ``runs/<run>.json``: whether it is done, and what came of it.

It is there from the run's first moment, open, and replaced by the closed one when all that the run
had to write is on the disk (docs/formats.md, "The report of a run"). A run that was killed leaves
it open and unlocked, and so is never taken for finished.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lafka.capture.leftovers import RUN
from lafka.errors import BadReport, StorageTrouble
from lafka.storage import drafts
from lafka.storage.folders import DRAFT, make_folders
from lafka.storage.locks import is_at, is_locked, lock_file
from lafka.warc.format.sources import FileSource

FORMAT = 1
SUFFIX = ".json"
RUNNING, KILLED, FINISHED, INCOMPLETE = "running", "killed", "finished", "incomplete"
"""States of a run; one that was stopped has its finish reason instead."""

Values = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The content of ``runs/<run>.json``, and whether its run lives.

    ``reason`` is None while the report is open, ``killed`` where a later run found it so, else
    Scrapy's finish reason. ``done``: each line of the list has its outcome. ``values`` is the whole
    object.
    """

    run: str
    values: Values
    alive: bool

    @property
    def reason(self) -> str | None:
        reason: str | None = self.values["reason"]
        return reason

    @property
    def done(self) -> bool:
        return bool(self.values["done"])

    @property
    def state(self) -> str:
        """``running``, ``killed``, ``finished``, ``incomplete``, or why it was stopped."""
        if self.reason is None:
            return RUNNING if self.alive else KILLED
        if self.reason == FINISHED and not self.done:
            return INCOMPLETE
        return self.reason

    @classmethod
    def load(cls, path: Path) -> Report:
        """The report at *path*.

        ``BadReport`` where it is none, ``FileNotFoundError``, ``StorageTrouble``.
        """
        while True:
            with _opening(path):
                fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                values = _read(fd, path)
                ended = values["reason"] is not None
                alive = not ended and is_locked(fd)
                # Else it was replaced while it was read: the new one is locked, or closed.
                if ended or alive or is_at(fd, path):
                    return cls(run=path.name.removesuffix(SUFFIX), values=values, alive=alive)
            finally:
                os.close(fd)


@contextmanager
def _opening(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StorageTrouble(path, error) from error


def _read(fd: int, path: Path) -> Values:
    try:
        with open(fd, "rb", closefd=False) as file:
            values = json.load(file)
    except OSError as error:
        raise StorageTrouble(path, error) from error
    except (ValueError, RecursionError) as error:
        raise BadReport(path, f"no report of a run: {error}") from None
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise BadReport(path, f"no report of a run, of format {FORMAT}")
    if not isinstance(values.get("done"), bool) or not isinstance(
        values.get("reason", 0), str | None
    ):
        raise BadReport(path, "it does not say whether its run is done, or why it ended")
    return values


class OpenReport:
    """The report of a run that lives: written durably at each ``save``, locked until ``close``.

    ``StorageTrouble`` where the disk refuses; then the report that was there still is.
    """

    def __init__(self, folder: Path, run: str, values: Mapping[str, Any]) -> None:
        self.path = folder / f"{run}{SUFFIX}"
        self.values: Values = {"format": FORMAT, "run": run, "done": False, "reason": None}
        self._fd = -1
        make_folders(folder)
        self.save(**values)

    def save(self, **values: Any) -> None:
        """Put *values* beside and over those that were there."""
        self.values.update(values)
        fd = _saved(self.path, self.values)
        self.close()
        self._fd = fd

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _saved(path: Path, values: Values) -> int:
    """Replace *path* durably; the descriptor of the new file, locked before it had the name."""
    # ASCII alone: who looks at it in a terminal sees escapes.
    return drafts.replace_locked(path, json.dumps(values, indent=1).encode() + b"\n")


def reports(root: Path) -> Iterator[Report | BadReport]:
    """The reports of the archive at *root*, oldest run first; an error where one is none."""
    for path in _paths(root):
        try:
            yield Report.load(path)
        except BadReport as error:
            yield error
        except FileNotFoundError:  # somebody tidies up
            continue


def last_of_list(root: Path, of_list: Mapping[str, Any], *, before: str) -> Report | None:
    """The report of the last run before *before* that read lines of the list, or shard, *of_list*.

    None where there is none, or the list was standard input. A report that is none is passed over.
    """
    wanted = of_list["path"], of_list.get("shard")
    for name in reversed(_paths(root) if of_list["path"] != "-" else []):
        if name.name.removesuffix(SUFFIX) >= before:
            continue
        with suppress(BadReport, FileNotFoundError, StorageTrouble):
            report = Report.load(name)
            of = report.values.get("list")
            is_same = isinstance(of, dict) and (of.get("path"), of.get("shard")) == wanted
            feed = name.with_suffix(".jsonl")
            if is_same and feed.is_file() and feed.stat().st_size > 0:
                return report
    return None


def _paths(root: Path) -> list[Path]:
    found = (root / "runs").glob(f"*{SUFFIX}")
    return sorted(path for path in found if not path.name.startswith("."))


def close_killed(root: Path) -> list[Report]:
    """The runs that were killed, each told of once: their reports get the reason ``killed``.

    Drafts of reports that they left are removed: the reports they were to replace are there.
    """
    found = []
    for draft in (root / "runs").glob(f"{DRAFT}*{SUFFIX}"):
        if RUN.fullmatch(draft.name.removeprefix(DRAFT).removesuffix(SUFFIX)):
            with suppress(OSError):  # a writer's, or none of ours to remove
                _remove_draft(draft)
    for path in _paths(root):
        if path.is_symlink() or not RUN.fullmatch(path.name.removesuffix(SUFFIX)):
            continue  # somebody's copy
        with suppress(BadReport, FileNotFoundError):
            report = Report.load(path)
            if report.state == KILLED and report.reason is None and _close(path):
                found.append(report)
    return found


def _close(path: Path) -> bool:
    """Say in the report at *path* that its run was killed; False where another run does so."""
    with _opening(path):
        fd = lock_file(path, os.O_RDONLY, wait=False)
    if fd is None:
        return False
    try:
        values = _read(fd, path)
        if values["reason"] is not None:
            return False
        os.close(_saved(path, values | {"reason": KILLED}))
    finally:
        os.close(fd)
    return True


def _remove_draft(draft: Path) -> None:
    fd = lock_file(draft, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, wait=False)
    if fd is None:
        return
    try:
        is_file = stat.S_ISREG(os.fstat(fd).st_mode)
        if is_file and os.pread(fd, 1, 0) in (b"", b"{", b"\0"):  # as a report begins, or was to
            draft.unlink()
    finally:
        os.close(fd)


class ListDigest:
    """The bytes of a list as they were read: how many, and their SHA-256."""

    def __init__(self) -> None:
        self._size = 0
        self._digest = hashlib.sha256()

    def add(self, data: bytes) -> None:
        self._size += len(data)
        self._digest.update(data)

    def as_json(self) -> Values:
        return {"bytes": self._size, "sha256": self._digest.hexdigest()}


# The line of a futli whose fut was held, and for which nobody was asked.
_TEXT = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_HELD_LINE = re.compile(
    rb'\{"pid": %b, "futli": %b, "outcome": "fut", "time": %b, "futs": \[\{"url": %b, "digest": %b,'
    rb' "length": \d+, "s": \d+, "l": \d+, "new": false\}\], "splap": null, "candidates": \[\],'
    rb' "capped": false, "requests": 0, "error": null(?:, "as_written": %b)?,'
    rb' "chain": "(sha256:[0-9a-f]{64})"\}' % (_TEXT, _TEXT, _TEXT, _TEXT, _TEXT, _TEXT)
)


@dataclass(slots=True, kw_only=True)
class Tally:
    """The sums over the lines of the outcome feed, in constant memory.

    ``size``: bytes of new futs; ``labelled``: PDFs, new or held, that are thought not to be futs;
    ``chain``: that of the last line, None where lines have none. ``heard`` is called with
    each but those whose fut was held.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    new: int = 0
    held: int = 0
    size: int = 0
    labelled: int = 0
    requests: int = 0
    errors: int = 0
    chain: str | None = None
    heard: Callable[[Values], object] | None = None

    def add(self, lines: bytes) -> None:
        """Count whole *lines* of the feed, which are on the disk."""
        for line in lines.splitlines():
            if held := _HELD_LINE.fullmatch(line):  # a list may have a million of them
                self.outcomes["fut"] += 1
                self.held += 1
                self.chain = held[1].decode()
                continue
            with suppress(ValueError, LookupError, TypeError):  # a feed of another format
                self._add(json.loads(line))

    def _add(self, item: dict[str, Any]) -> None:
        if "outcome" not in item:  # a fileset's result; a line of a fobi has both
            self._add_result(item)
            return
        outcome, error = item["outcome"], item["error"]
        futs = item.get("futs", ())  # of a crawl that looks for none, there are none
        self.requests += item["requests"]
        self.outcomes[outcome] += 1
        self.errors += error is not None
        for fut in futs:
            if fut.get("label"):
                self.labelled += 1
                continue
            self.new += fut["new"]
            self.held += not fut["new"]
            self.size += fut["length"] if fut["new"] else 0
        self.chain = item.get("chain")
        # A line of a feed of before whose fut was held names no fut.
        self.held += outcome == "fut" and not futs
        if self.heard:
            self.heard(item)

    def _add_result(self, result: dict[str, Any]) -> None:
        """A fileset's result: its status stands for its outcome, its files for futs."""
        self.outcomes[result["status"]] += 1
        self.errors += "error_message" in result
        self.chain = result.get("chain")
        account = result.get("lafka", {})
        self.requests += account.get("requests", 0)
        self.size += account.get("bytes", 0)
        files = Counter(file.get("status") for file in result.get("manifest", ()))
        self.new += files["success"]
        self.held += files["exists"]

    def as_json(self) -> Values:
        return {
            "lines": self.outcomes.total(),
            "chain": self.chain,
            "outcomes": dict(sorted(self.outcomes.items())),
            "futs": {
                "new": self.new,
                "held": self.held,
                "bytes": self.size,
                "labelled": self.labelled,
            },
            "requests": self.requests,
            "errors": self.errors,
        }


_PIECE = 1 << 20


def merge_runs(source: Path, target: Path, *, dry: bool = False) -> Iterator[str]:
    """Take feeds and closed reports of the archive at *source* into that at *target*.

    Yields a sentence for each that is in the way, and leaves it. Of a feed that goes on its whole
    lines are taken; the report of a run that lives, or was killed, is not. ``StorageTrouble``.
    """
    for path in sorted((source / "runs").glob("*.json*")):
        ours = target / "runs" / path.name
        if path.name.startswith("."):
            continue
        try:
            if path.suffix == ".jsonl":
                yield from _merge_feed(path, ours, dry=dry)
            elif path.suffix == ".json":
                yield from _merge_report(path, ours, dry=dry)
        except OSError as error:
            raise StorageTrouble(error.filename or path, error) from error


def _merge_feed(theirs: Path, ours: Path, *, dry: bool) -> Iterator[str]:
    end = _end_of_lines(theirs)
    held = ours.stat().st_size if ours.exists() else 0
    common = min(held, end)
    begins = zip(_pieces(theirs, 0, common), _pieces(ours, 0, common), strict=True)
    if any(one != other for one, other in begins):
        yield f"{ours} and {theirs} are feeds of one run, and differ"
    elif end > held and not dry:
        drafts.replace(ours, _pieces(theirs, 0, end))


def _end_of_lines(feed: Path) -> int:
    """Return the byte behind the last whole line."""
    size = feed.stat().st_size
    for begin in range(max(0, size - _PIECE), -_PIECE, -_PIECE):
        piece = b"".join(_pieces(feed, max(0, begin), min(size, begin + _PIECE)))
        if b"\n" in piece:
            return max(0, begin) + piece.rindex(b"\n") + 1
    return 0


def _pieces(path: Path, begin: int, end: int) -> Iterator[bytes]:
    if begin < end:
        with path.open("rb") as file:
            yield from FileSource(file.fileno(), begin, end - begin).chunks()


def _merge_report(theirs: Path, ours: Path, *, dry: bool) -> Iterator[str]:
    try:
        found = Report.load(theirs)
        known = Report.load(ours) if ours.exists() else None
    except BadReport as error:
        yield str(error)
        return
    if found.reason in (None, KILLED):
        return
    if known is None or known.reason in (None, KILLED):
        if not dry:
            drafts.replace(ours, [theirs.read_bytes()])
    elif known.values != found.values:
        yield f"{ours} and {theirs} are reports of one run, and differ"
