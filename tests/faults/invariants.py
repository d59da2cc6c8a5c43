"""What has to be true of an archive whatever happened to it: the invariants of docs/reliability.md.

Judged by ``lafka.papers.checking``, which shares no code with a writer, and by plain Python;
never by what writes. Each function gives sentences, none where all is well, and is named for what
it proves.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from lafka.papers.checking import Verifier
from tests import starts
from tests.faults.crawls import Run
from tests.faults.sites import Line

Sent = Mapping[str, Mapping[str, bytes]]
"""What the site really sent: pid -> digest -> PDF."""
MOST_KIB = 1 << 20


def digest_of(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def suwafs(root: Path) -> Iterator[tuple[Path, Path]]:
    """Each suwaf with the place of its WARC."""
    for suwaf in sorted((root / "suwaf").rglob("*.json")):
        if not suwaf.name.startswith(".draft-"):
            name = suwaf.relative_to(root / "suwaf").with_suffix(".warc")
            yield suwaf, root / "warc" / name


def entries(suwaf: Path) -> list[tuple[str, str, dict[str, Any]]]:
    """pid, futli, entry of each fut that *suwaf* names."""
    values = json.loads(suwaf.read_bytes())
    return [
        (pid, futli, entry)
        for pid, futlis in values.items()
        if pid != "_warc"
        for futli, times in futlis.items()
        for entry in times.values()
    ]


def acknowledged(root: Path) -> list[list[dict[str, Any]]]:
    """The whole outcome lines of each run, oldest run first."""
    feeds = sorted((root / "runs").glob("*.jsonl"))
    return [list(lines_of(feed.read_bytes())) for feed in feeds]


def lines_of(data: bytes) -> Iterator[dict[str, Any]]:
    for line in data.split(b"\n")[:-1]:
        try:
            yield json.loads(line)
        except ValueError:  # torn by a kill, or zeros that a power cut left: no acknowledgement
            continue


# 1 to 4: each paper for itself ------------------------------------------------------------


def every_suwaf_names_a_warc_that_is_long_enough(root: Path) -> Iterator[str]:
    """Invariant 1."""
    for suwaf, warc in suwafs(root):
        try:
            end = json.loads(suwaf.read_bytes())["_warc"]["end"]
            entries(suwaf)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            yield f"{suwaf}: is none: {error!r}"
            continue
        size = warc.stat().st_size if warc.exists() else -1
        if size < end:
            yield f"{warc}: {size} bytes, its suwaf knows {end}"


def every_cut_is_the_pdf_of_its_digest(root: Path) -> Iterator[str]:
    """Invariant 2."""
    for suwaf, warc in suwafs(root):
        data = warc.read_bytes() if warc.exists() else b""
        for _, futli, entry in entries(suwaf):
            cut = data[entry["s"] : entry["s"] + entry["l"]]
            if not cut.startswith(b"%PDF-") or digest_of(cut) != entry["digest"]:
                yield f"{suwaf}: {futli}: s, l cut out something else"


def every_warc_is_records_from_end_to_end(root: Path, *, tails: bool = False) -> Iterator[str]:
    """Invariants 1 to 5 by the strict reader; with *tails* before any recovery has been at work."""
    for problem in Verifier(root).verify_all():
        if problem.severity == "error" and not (tails and problem.code == "no-suwaf"):
            yield json.dumps(problem.as_json(), ensure_ascii=False)


def no_payload_is_stored_twice(root: Path, sent: Sent) -> Iterator[str]:
    """Invariant 4: each PDF that was sent stands at most once in its WARC and under one s, l."""
    for suwaf, warc in suwafs(root):
        data = warc.read_bytes() if warc.exists() else b""
        found = entries(suwaf)
        for pid in {pid for pid, _, _ in found}:
            for digest, pdf in sent.get(pid, {}).items():
                if (count := data.count(pdf)) > 1:
                    yield f"{warc}: {digest} stands there {count} times"
        for digest in {entry["digest"] for _, _, entry in found}:
            places = {(e["s"], e["l"]) for _, _, e in found if e["digest"] == digest}
            if len(places) > 1:
                yield f"{suwaf}: {digest} has {len(places)} places"


# 5 to 9: the archive and its runs -----------------------------------------------------------


def all_acknowledged_is_there(root: Path, lines: Sequence[Line], sent: Sent) -> Iterator[str]:
    """Invariant 5: what an outcome line says is stored is there, with the bytes that were sent."""
    stored = {(line.pid, line.url): line.stored for line in lines}
    for run in acknowledged(root):
        for told in run:
            yield from promised(root, told, sent, stored.get((told["pid"], told["futli"]), b""))


def promised(root: Path, told: Mapping[str, Any], sent: Sent, stored: bytes) -> Iterator[str]:
    """What is missing of an outcome line's promise."""
    name = told["pid"].replace(":", "/")
    warc, suwaf = root / "warc" / f"{name}.warc", root / "suwaf" / f"{name}.json"
    data = warc.read_bytes() if warc.exists() else b""
    if told["outcome"] in ("splap-only", "other-type", "fut") and stored and stored not in data:
        yield f"{warc}: what {told['futli']} gave is acknowledged and not there"
    if told["outcome"] != "fut":
        return
    try:
        held = entries(suwaf)
    except (OSError, ValueError) as error:
        yield f"{suwaf}: acknowledged: {error}"
        return
    if told["futli"] not in {futli for _, futli, _ in held}:
        yield f"{suwaf}: {told['futli']} is acknowledged and not there"
    for fut in told["futs"] or ():
        cut = data[fut["s"] : fut["s"] + fut["l"]]
        if cut != sent[told["pid"]].get(fut["digest"]):
            yield f"{warc}: {fut['digest']} was acknowledged, and is not what was sent"


def every_line_has_one_outcome(root: Path, lines: Sequence[Line]) -> Iterator[str]:
    """Invariant 6: of the last run, which has to have come to its end."""
    runs = acknowledged(root)
    told = Counter((t["pid"], t["futli"], t["outcome"]) for t in (runs[-1] if runs else ()))
    wanted = Counter((line.pid, line.url, line.outcome) for line in lines)
    yield from (f"{count} times too few: {line}" for line, count in (wanted - told).items())
    yield from (f"{count} times too many: {line}" for line, count in (told - wanted).items())


def nothing_is_left_over(root: Path) -> Iterator[str]:
    """Invariant 7."""
    for path in sorted(root.rglob("*")):
        where = path.relative_to(root).parts
        if where[0] == "raw" and len(where) > 1:
            yield f"{path}: left"
        elif path.name.startswith(".draft-") and where[0] in ("warc", "suwaf"):
            yield f"{path}: a draft"


def files_but_feeds(root: Path) -> dict[str, str]:
    """A digest of each file that is no outcome feed, by its path."""
    return {
        path.relative_to(root).as_posix(): digest_of(path.read_bytes())
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.relative_to(root).parts[0] != "runs"
    }


def a_rerun_asks_and_adds_nothing(
    before: Mapping[str, str], root: Path, asked: Sequence[str]
) -> Iterator[str]:
    """Invariant 8, for a list whose lines all have their futs; *asked*: what the site saw."""
    yield from (f"asked for {target}" for target in asked)
    after = files_but_feeds(root)
    yield from (f"{name}: changed" for name in sorted({*before} ^ {*after}))
    yield from (
        f"{name}: changed" for name in before if after.get(name, before[name]) != before[name]
    )


def the_same_futs_as_undisturbed(root: Path, sent: Sent) -> Iterator[str]:
    """Invariant 9: the set of (pid, digest) is that of all that was sent."""
    held = {(pid, entry["digest"]) for suwaf, _ in suwafs(root) for pid, _, entry in entries(suwaf)}
    wanted = {(pid, digest) for pid, digests in sent.items() for digest in digests}
    yield from (f"missing: {pair}" for pair in sorted(wanted - held))
    yield from (f"never sent: {pair}" for pair in sorted(held - wanted))


# 10, 11: while it is written ------------------------------------------------------------------


@dataclass(slots=True)
class Prefixes:
    """Invariant 11: how the acknowledged part of each WARC was, to be compared at each look."""

    known: dict[Path, tuple[int, str]] = field(default_factory=dict)

    def look(self, root: Path) -> list[str]:
        troubles = []
        for suwaf, warc in suwafs(root):
            data = warc.read_bytes() if warc.exists() else b""
            if warc in self.known:
                end, digest = self.known[warc]
                if digest_of(data[:end]) != digest:
                    troubles.append(f"{warc}: its first {end} bytes are not as they were")
            end = json.loads(suwaf.read_bytes())["_warc"]["end"]
            self.known[warc] = (end, digest_of(data[:end]))
        return troubles


class Reader(threading.Thread):
    """Invariant 10: reads every suwaf and all its futs again and again while others write."""

    def __init__(self, root: Path) -> None:
        super().__init__(daemon=True)
        self.troubles: list[str] = []
        self.looks = 0
        self._root = root
        self._done = threading.Event()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self.join()

    def run(self) -> None:
        while not self._done.wait(0.02):
            self.look()

    def look(self) -> None:
        self.looks += 1
        for look in (every_suwaf_names_a_warc_that_is_long_enough,
                     every_cut_is_the_pdf_of_its_digest):  # fmt: skip
            try:
                self.troubles += look(self._root)
            except FileNotFoundError:  # a folder that was walked when a draft in it went
                continue


# 12, 13: the process ---------------------------------------------------------------------------

_LOOPBACK = re.compile(r"\('127\.\d+\.\d+\.\d+', \d+\)")


def nothing_outside_is_reached(run: Run) -> Iterator[str]:
    """Invariant 12, of a crawl whose calls were told: no other file written, no other address."""
    for call in run.calls:
        if call.kind == "outside":
            yield f"{call.path}: written, outside the archive"
        elif call.kind == "connect" and not _is_here(call.path):
            yield f"{call.path}: connected to"


def _is_here(address: str) -> bool:
    """Whether it is a site of ours, or the process whose forks are the crawl's children."""
    return bool(_LOOPBACK.fullmatch(address)) or address == starts.address()


def memory_is_bounded(run: Run) -> Iterator[str]:
    """Invariant 13; that the reactor never stalls is shown by ``tests/crawls/test_hostile.py``."""
    if run.kib > MOST_KIB:
        yield f"{run.kib} KiB"


# Together ----------------------------------------------------------------------------------------


def at_any_moment(root: Path, lines: Sequence[Line], sent: Sent) -> list[str]:
    """What holds after a kill, before anything is recovered."""
    if not (root / "lafka.json").exists():
        return []
    return [
        *every_suwaf_names_a_warc_that_is_long_enough(root),
        *every_cut_is_the_pdf_of_its_digest(root),
        *every_warc_is_records_from_end_to_end(root, tails=True),
        *no_payload_is_stored_twice(root, sent),
        *all_acknowledged_is_there(root, lines, sent),
    ]


def at_the_end(root: Path, lines: Sequence[Line], sent: Sent) -> list[str]:
    """What holds when the list was crawled to its end."""
    return [
        *every_suwaf_names_a_warc_that_is_long_enough(root),
        *every_cut_is_the_pdf_of_its_digest(root),
        *every_warc_is_records_from_end_to_end(root),
        *no_payload_is_stored_twice(root, sent),
        *all_acknowledged_is_there(root, lines, sent),
        *every_line_has_one_outcome(root, lines),
        *nothing_is_left_over(root),
        *the_same_futs_as_undisturbed(root, sent),
    ]


def of_the_process(run: Run) -> list[str]:
    return [*nothing_outside_is_reached(run), *memory_is_bounded(run)]
