"""Reading a fut by its pid, against the ways one would read it without Lafka."""

from __future__ import annotations

import json
import mmap
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from warcio.archiveiterator import ArchiveIterator

from benchmarks import archives
from benchmarks.sites import Papers
from benchmarks.tables import markdown
from lafka.papers.archive.archives import Archive, StoredFut
from lafka.warc.reading.volumes import Volume

ROUNDS = 15
LIMITS = {"200 kB": 1.5, "1 MB": 1.15}
HEAD = ("µs CPU a fut", "200 kB", "/ pread", "1 MB", "/ pread")


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What each way knows of a paper before it reads."""

    pid: str
    fut: StoredFut
    warc: str
    record: int
    """Offset of the response record that holds the fut."""


def table(*, quick: bool = False) -> str:
    kinds = [Papers(count=300, size=200_000), Papers(count=150, size=1_000_000)]
    if quick:
        kinds = [Papers(count=kind.count // 5, size=kind.size) for kind in kinds]
    small, big = (_measure(papers) for papers in kinds)
    rows = [
        [name, *(cell for found in (small, big) for cell in _cells(found, name))] for name in small
    ]
    short = [
        label
        for label, found in (("200 kB", small), ("1 MB", big))
        if found[BY_PID] > LIMITS[label] * found[PREAD]
    ]
    verdict = f"falls short at {' and '.join(short)}" if short else "holds"
    return markdown(
        HEAD,
        rows,
        f"Random order over {kinds[0].count} and {kinds[1].count} papers, files in the page cache,"
        f" the best of {ROUNDS} interleaved rounds. The first row knows file, start and length; the"
        " second only the pid: it reads and checks the suwaf first.",
        f"By pid at most {' and '.join(f'{n} times' for n in LIMITS.values())} open + pread:"
        f" {verdict}.",
    )


def _cells(found: dict[str, float], name: str) -> tuple[str, str]:
    return f"{found[name] * 1e6:.0f}", f"{found[name] / found[PREAD]:.2f}"


def _measure(papers: Papers) -> dict[str, float]:
    """Seconds of CPU a fut of each way, the best round: what else runs counts for little so."""
    with archives.crawled(papers) as root, _ways(root) as ways:
        knowns = [_known(Archive(root), papers.pid(n)) for n in range(papers.count)]
        for known in knowns:
            assert len({way(known) for way in ways.values()}) == 1
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        for seed in range(ROUNDS):
            random.Random(seed).shuffle(knowns)
            for name, way in ways.items():
                begun = time.process_time()
                for known in knowns:
                    way(known)
                seconds[name].append((time.process_time() - begun) / len(knowns))
    return {name: min(found) for name, found in seconds.items()}


def _known(archive: Archive, pid: str) -> Known:
    fut = archive.fut(pid)
    with Volume(fut.warc) as volume:
        holder = next(r for r in volume if r.block_start <= fut.start < r.end)
    return Known(pid=pid, fut=fut, warc=str(fut.warc), record=holder.offset)


PREAD, BY_PID = "open + pread", "`Archive.fut(pid).read()`"
Way = Callable[[Known], bytes]


@contextmanager
def _ways(root: Path) -> Iterator[dict[str, Way]]:
    archive = Archive(root)
    index = root.with_name("index.cdxj")
    index.write_bytes(b"".join(sorted(_cdxj_lines(archive))))
    with index.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as lines:
        yield {
            PREAD: _pread,
            BY_PID: lambda known: archive.fut(known.pid).read(),
            "warcio at the record's offset": lambda known: _warcio(known.warc, known.record),
            "CDXJ line, then warcio": lambda known: _cdxj(lines, known.pid),
        }


def _pread(known: Known) -> bytes:
    fd = os.open(known.warc, os.O_RDONLY)
    data = os.pread(fd, known.fut.length, known.fut.start)
    os.close(fd)
    return data


def _warcio(warc: Path | str, offset: int) -> bytes:
    with open(warc, "rb") as file:  # noqa: PTH123  as a path from an index would be opened
        file.seek(offset)
        data: bytes = next(iter(ArchiveIterator(file))).content_stream().read()
        return data


def _cdxj_lines(archive: Archive) -> Iterator[bytes]:
    """``pid timestamp {"filename": ..., "offset": ...}``, as wayback indexes have it by URL."""
    for warc in archive.warcs():
        known = _known(archive, str(archive.pid_at(warc)))
        values = {"filename": str(warc), "offset": str(known.record), "mime": "application/pdf"}
        stamp = "".join(c for c in known.fut.time if c.isdigit())
        yield f"{known.pid} {stamp} {json.dumps(values)}\n".encode()


def _cdxj(lines: mmap.mmap, pid: str) -> bytes:
    wanted = pid.encode() + b" "
    low, high = 0, len(lines)
    while low < high:
        middle = lines.rfind(b"\n", 0, (low + high) // 2) + 1
        if middle < low:
            middle = low
        if lines[middle : middle + len(wanted)] < wanted:
            low = lines.find(b"\n", middle) + 1
        else:
            high = middle if middle > low else low
    line = lines[low : lines.find(b"\n", low)]
    assert line.startswith(wanted)
    values = json.loads(line.split(b" ", 2)[2])
    return _warcio(values["filename"], int(values["offset"]))
