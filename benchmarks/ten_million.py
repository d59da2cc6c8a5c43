"""Ten million lines, made on the fly: one verdict each, and the memory that takes.

A process writes the list, every fiftieth line of it bad in one of ten ways; another reads it from
standard input into a feeder, as a crawl does, and takes every line out again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from io import FileIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, cast

from benchmarks import runs
from benchmarks.tables import markdown
from lafka.papers.lists import listfiles
from lafka.papers.lists.futlis import Feeder, Line
from lafka.pids import SCHEMES

LINES, HOSTS = 10_000_000, 1_000_000
LIMIT = 200e6
_PAGE = os.sysconf("SC_PAGE_SIZE")
OUT = 500
"""Lines that are out at a time, as LAFKA_TRAILS_MAX has it."""
BAD = (
    b"\xff\xfe\thttp://x.example/",
    b"no tab at all",
    b"RePEc:a:b\thttp://x.example/1.pdf",
    b"RePEc:a:b:c\tx.example/no-scheme",
    b"RePEc:a:b:c\tjavascript:alert(1)",
    b"RePEc:a:b:c\thttp://[::1/",
    b'"RePEc:a:b:c"\t"http://x.example/"',
    "RePEc:a:b:c\u2028d\thttp://x.example/".encode(),
    b"RePEc:a:b:c\thttp://x.example/\x00",
    b"RePEc:a:b:c\thttp://x.example/" + b"y" * 10_000 + b":\x7f",
)


def table(*, quick: bool = False) -> str:
    lines = LINES // (100 if quick else 1)
    me = [sys.executable, "-m", "benchmarks.ten_million"]
    begun = time.perf_counter()
    with (
        subprocess.Popen(
            [*me, "write", str(lines)], cwd=runs.ROOT, stdout=subprocess.PIPE
        ) as writer,
        subprocess.Popen(
            [*me, "read", str(lines)], cwd=runs.ROOT, stdin=writer.stdout, stdout=subprocess.PIPE
        ) as reader,
    ):
        assert reader.stdout is not None
        *stages, end = map(json.loads, reader.stdout)
    if reader.returncode or writer.returncode:
        raise SystemExit("the list was not read to its end")
    if end["verdicts"] != lines or end["twice"]:
        raise SystemExit(f"not one verdict a line: {end}")
    told = ", ".join(f"{count:,} {name}" for name, count in end["outcomes"].items())
    return markdown(
        (f"{lines:,} lines, {min(HOSTS, lines):,} hosts in turn", "RSS, MB"),
        [
            *([stage["stage"], f"{stage['rss'] / 1e6:.0f}"] for stage in stages),
            ["peak", f"{end['peak'] / 1e6:.0f}"],
        ],
        f"One verdict for each of the {lines:,} lines: {told}. {time.perf_counter() - begun:.0f} s,"
        f" two processes. Under {LIMIT / 1e6:.0f} MB:"
        f" {'holds' if end['peak'] < LIMIT else 'falls short'}.",
    )


def _write(lines: int) -> None:
    out = sys.stdout.buffer
    for begin in range(0, lines, 1000):
        out.write(b"".join(_line(number) for number in range(begin, begin + 1000)))


def _line(number: int) -> bytes:
    if number % 50 == 49:
        return BAD[number // 50 % len(BAD)] + b"\r\n"
    host = number * 7919 % HOSTS
    return b"RePEc:b%02d:wpaper:%d\thttp://h%d.example/papers/%d.pdf\n" % (
        number % 97, number, host, number,
    )  # fmt: skip


def _read(lines: int) -> None:
    with TemporaryDirectory(prefix="lafka-benchmark-") as folder:
        feeder = Feeder(Path(folder) / "list.sqlite", per_host=2)
        stdin = cast("BinaryIO", FileIO(0, closefd=False))
        watched, told = _Watched(lines), _Told(lines)
        found = listfiles.read("-", SCHEMES["RePEc"], stdin=stdin)
        feeder.load(watched.seen("loaded", found))  # all of it first: the most that can wait
        for line in watched.seen("taken", _taken(feeder)):
            told.mark(line)
        end = {"verdicts": told.count, "twice": told.twice, "peak": watched.peak}
        print(json.dumps(end | {"outcomes": told.outcomes}))
        feeder.close()


class _Watched:
    def __init__(self, lines: int) -> None:
        self.peak = 0
        self._step = lines // 4

    def seen(self, what: str, lines: Iterable[Line]) -> Iterator[Line]:
        """*lines*, with a look at the memory at each thousandth."""
        for count, line in enumerate(lines, 1):
            yield line
            if count % 1000 == 0:
                rss = int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE
                self.peak = max(self.peak, rss)
                if count % self._step == 0:
                    print(json.dumps({"stage": f"{count:,} lines {what}", "rss": rss}), flush=True)


class _Told:
    """A mark for each line that had its verdict, in a bit each."""

    def __init__(self, lines: int) -> None:
        self.count = self.twice = 0
        self.outcomes: Counter[str] = Counter()
        self._marks = bytearray(lines // 8 + 1)

    def mark(self, line: Line) -> None:
        place, bit = divmod(line.number - 1, 8)
        self.twice += self._marks[place] >> bit & 1
        self._marks[place] |= 1 << bit
        self.outcomes[line.outcome or "to be asked"] += 1
        self.count += 1


def _taken(feeder: Feeder) -> Iterator[Line]:
    """All lines, OUT of them out at a time."""
    out: deque[Line] = deque()
    while not feeder.exhausted:
        lines = feeder.take(64)
        yield from lines
        out += lines
        while len(out) > (OUT if lines else 0):
            feeder.release(out.popleft())


if __name__ == "__main__":
    {"write": _write, "read": _read}[sys.argv[1]](int(sys.argv[2]))
