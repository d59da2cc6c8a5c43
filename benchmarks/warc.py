"""The WARC library against warcio and FastWARC 2 (requirements-test.txt), in one run."""

from __future__ import annotations

import base64
import contextlib
import csv
import gzip
import hashlib
import io
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from fastwarc.warc import ArchiveIterator as FastIterator
from warcio.archiveiterator import ArchiveIterator
from warcio.checker import Checker
from warcio.warcwriter import WARCWriter

from benchmarks import runs
from benchmarks.tables import markdown
from lafka.warc.format.dates import WarcDate
from lafka.warc.format.records import Record
from lafka.warc.indexes.base import Entry
from lafka.warc.indexes.sqlite import SqliteBuilder, SqliteIndex
from lafka.warc.indexes.surts import surt
from lafka.warc.reading.checking import check
from lafka.warc.reading.volumes import Volume
from lafka.warc.writing.builders import Builder

ROUNDS = 9
SAMPLES = Path(__file__).resolve().parents[2] / "shared" / "warc"
DATE = "2026-11-20T10:11:12Z"
OURS, WARCIO, FAST = "`lafka.warc`", "warcio", "FastWARC"
Way = Callable[[], object]


def table(*, quick: bool = False) -> str:
    less = 10 if quick else 1
    with TemporaryDirectory(prefix="lafka-benchmark-") as name:
        folder = Path(name)
        parts = [
            "\n\n".join(_speeds(folder, less)),
            _closest(folder, 1_000_000 // less),
            _memory(folder, (2 << 30) // less),
            _torn(folder),
        ]
        if (SAMPLES / "manifest.tsv").exists():
            parts.append(_samples())
    return "\n\n".join(parts)


# ---- Speed


def _speeds(folder: Path, less: int) -> Iterator[str]:
    large, small = 400 // less, 10_000 // less
    big, little, packed = folder / "big.warc", folder / "small.warc", folder / "small.warc.gz"
    _volume(big, large, 1_000_000)
    _volume(little, small, 1_000)
    packed.write_bytes(b"".join(gzip.compress(r, 6) for r in _records(small // 4, 1_000)))
    rows = []
    walks: dict[str, Way] = {
        OURS: lambda: sum(1 for _ in Volume(big)),
        WARCIO: lambda: _each_warcio(big, read=False),
        FAST: lambda: sum(1 for _ in FastIterator(str(big), parse_http=False)),
    }
    rows.append(_row("walk headers, payloads of 1 MB", "records/s", large, walks, FAST, 10))
    for label, path, count in (("plain", little, small), ("gzip", packed, small // 4)):
        reads: dict[str, Way] = {
            OURS: lambda path=path: _each(path),
            WARCIO: lambda path=path: _each_warcio(path),
            FAST: lambda path=path: _each_fast(path),
        }
        limit = 2 if label == "plain" else 0
        rows.append(
            _row(f"read records of 1 kB, {label}", "records/s", count, reads, WARCIO, limit)
        )
    for label, path, count, unit in (
        ("1 MB", big, large, "MB/s"),
        ("1 kB", little, small // 4, "records/s"),
    ):
        checks: dict[str, Way] = {
            OURS: lambda path=path: _checked(path),
            WARCIO: lambda path=path: _checked_by_warcio(path),
            FAST: lambda path=path: _checked_by_fast(path),
        }
        rows.append(_row(f"verify digests, records of {label}", unit, count, checks, WARCIO, 1.5))
    yield markdown(
        ("", OURS, WARCIO, FAST, "asked for"),
        rows,
        "Wall time, files in the page cache, best of"
        f" {ROUNDS} interleaved rounds. Reading is every field and the whole block. FastWARC"
        " verifies block digests alone and holds each record whole; the others verify block and"
        " payload, and `check` every rule of the standard besides.",
    )
    yield _writing(folder, 100 // less)


def _row(
    label: str, unit: str, count: int, ways: dict[str, Way], peer: str, wanted: float
) -> list[str]:
    seconds = _timed(ways)
    rates = {name: count / took for name, took in seconds.items()}
    times = rates[OURS] / rates[peer]
    verdict = ""
    if wanted:
        held = "holds" if times >= wanted else "falls short"
        verdict = f"{wanted:g} x {peer}: {times:.1f} x, {held}"
    return [f"{label}, {unit}", *(f"{rates[name]:,.0f}" for name in ways), verdict]


def _timed(ways: dict[str, Way]) -> dict[str, float]:
    """Seconds of each way: the best of interleaved rounds, which other load disturbs least."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for way in ways.values():
        way()  # into the page cache
    for _ in range(ROUNDS):
        for name, way in ways.items():
            begun = time.perf_counter()
            way()
            seconds[name].append(time.perf_counter() - begun)
    return {name: min(found) for name, found in seconds.items()}


def _records(count: int, size: int) -> Iterator[bytes]:
    """Responses with digests as warcio writes them, by SHA-1."""
    payload = random.Random(size).randbytes(size)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % size
    for number in range(count):
        body = b"%08d" % number + payload[8:]
        yield (
            (
                b"WARC/1.1\r\nWARC-Type: response\r\n"
                b"WARC-Record-ID: <urn:uuid:6a59c5c8-d806-4cdb-83aa-%012d>\r\n"
                b"WARC-Date: 2026-11-20T10:11:12Z\r\nWARC-Target-URI: http://x.example/%d\r\n"
                b"Content-Type: application/http; msgtype=response\r\n"
                b"WARC-Payload-Digest: %s\r\nWARC-Block-Digest: %s\r\nContent-Length: %d\r\n\r\n"
                % (number, number, _sha1(body), _sha1(head + body), len(head) + size)
            )
            + head
            + body
            + b"\r\n\r\n"
        )


def _sha1(data: bytes) -> bytes:
    return b"sha1:" + base64.b32encode(hashlib.sha1(data).digest())


def _volume(path: Path, count: int, size: int) -> None:
    with path.open("wb") as file:
        file.writelines(_records(count, size))


def _each(path: Path) -> None:
    with Volume(path) as volume:
        for record in volume:
            list(record.fields)
            record.block().read(0, record.block_length)


def _each_warcio(path: Path, *, read: bool = True) -> None:
    with path.open("rb") as file:
        for record in ArchiveIterator(file, no_record_parse=True):
            if read:
                list(record.rec_headers.headers)
                record.raw_stream.read()


def _each_fast(path: Path) -> None:
    for record in FastIterator(str(path), parse_http=False):
        list(record.headers)
        record.reader.read()


def _checked(path: Path) -> None:
    checked = check(path)
    assert not list(checked)


def _checked_by_warcio(path: Path) -> None:
    class Command:
        inputs = (str(path),)
        verbose = False

    assert Checker(Command).process_all() == 0


def _checked_by_fast(path: Path) -> None:
    for record in FastIterator(str(path), parse_http=False):
        assert record.verify_block_digest()


def _writing(folder: Path, count: int) -> str:
    blocks = [random.Random(n).randbytes(1_000_000) for n in range(8)]

    def written(work: Callable[[Path], object]) -> None:
        with TemporaryDirectory(dir=folder) as name:
            work(Path(name) / "x.warc")

    def ours(path: Path) -> None:
        with Builder(path) as builder:
            for n in range(count):
                record = Record.resource("http://x.example/", blocks[n % 8], content_type="x/y")
                builder.append(record)

    def bare(path: Path) -> None:
        with path.open("wb", buffering=0) as file:
            for n in range(count):
                hashlib.sha256(blocks[n % 8]).digest()
                file.write(blocks[n % 8])

    def by_warcio(path: Path) -> None:
        with path.open("wb") as file:
            writer = WARCWriter(file, gzip=False)
            for n in range(count):
                block = io.BytesIO(blocks[n % 8])
                writer.write_record(
                    writer.create_warc_record("http://x.example/", "resource", payload=block)
                )

    bare_name = "SHA-256 and write"
    seconds = _timed(
        {
            bare_name: lambda: written(bare),
            "`Builder`": lambda: written(ours),
            WARCIO: lambda: written(by_warcio),
        }
    )
    ratio = seconds["`Builder`"] / seconds[bare_name]
    held = "holds" if ratio <= 1.1 else "falls short"
    return markdown(
        ("write records of 1 MB", *seconds),
        [["µs a record", *(f"{took / count * 1e6:,.0f}" for took in seconds.values())]],
        f"At most 1.1 times one SHA-256 pass and the write: {ratio:.2f} times, {held}. Resources,"
        " whose payload is their block; warcio hashes by SHA-1, block and payload.",
    )


# ---- Search


def _closest(folder: Path, count: int) -> str:
    path = folder / "index.sqlite"
    urls = [f"http://host{n % 5000}.example/page/{n // 20}" for n in range(count)]
    begun = time.perf_counter()
    with SqliteBuilder(path, fresh=True) as builder:
        for n, url in enumerate(urls):
            date = WarcDate.parse(f"20{n % 20 + 5:02}-0{n % 9 + 1}-1{n % 10}T10:11:12Z")
            builder.add_entry(
                Entry(
                    key=surt(url), url=url, date=date, type="response", volume=f"{n % 100}.warc",
                    offset=n * 1000, length=1000,
                )
            )  # fmt: skip
    built = time.perf_counter() - begun
    wanted = random.Random(1).sample(urls, 2_000)
    seconds = []
    with SqliteIndex(path) as index:
        for _ in range(ROUNDS):
            begun = time.perf_counter()
            for url in wanted:
                next(index.search(url=url, time="2014-05-06"))
            seconds.append((time.perf_counter() - begun) / len(wanted))
    micros = min(seconds) * 1e6
    held = "holds" if micros < 50 else "falls short"
    return markdown(
        (f"closest capture among {count:,}", "SQLite"),
        [["µs a search", f"{micros:.0f}"], ["s to build", f"{built:.0f}"]],
        f"(url, time), warm, any URL, best of {ROUNDS} rounds of {len(wanted):,}."
        f" Under 50 µs: {held}.",
    )


# ---- Memory

_WRITE = """
import os, sys
from lafka.warc.writing.builders import Builder
from lafka.warc.format.records import Record
from lafka.warc.format.sources import FileSource
source, target, size = sys.argv[1:]
fd = os.open(source, os.O_RDONLY)
with Builder(target, max_size=1 << 60) as builder:
    block = FileSource(fd, 0, int(size))
    builder.append(Record.resource("http://x.example/", block, content_type="x/y"))
"""
_READ = """
import sys
from lafka.warc.reading.volumes import Volume
(record,) = Volume(sys.argv[1])
assert sum(map(len, record.block().chunks())) == record.block_length == int(sys.argv[2])
"""
_CHECK = """
import sys
from lafka.warc.reading.checking import check
checked = check(sys.argv[1])
assert list(checked) == [] and checked.records == 1
"""
_NOTHING = "import lafka.warc.writing.builders, lafka.warc.reading.checking"
# Of this program alone: what wait4 says begins with what the process was before it was this one.
_SAY = """
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def _memory(folder: Path, size: int) -> str:
    source, plain, packed = folder / "source", folder / "one.warc", folder / "one.warc.gz"
    with source.open("wb") as file:
        file.truncate(size)
    peaks = {"imports alone": _peak(folder, _NOTHING)}
    peaks["write"] = _peak(folder, _WRITE, source, plain, size)
    source.unlink()
    with plain.open("rb") as file, gzip.open(packed, "wb", 1) as out:
        while data := file.read(1 << 20):
            out.write(data)
    for label, path in (("", plain), (", gzip", packed)):
        peaks[f"read{label}"] = _peak(folder, _READ, path, size)
        peaks[f"check{label}"] = _peak(folder, _CHECK, path)
        path.unlink()
    flat = all(peak < peaks["imports alone"] + 32e6 for peak in peaks.values())
    return markdown(
        (f"one record of {size / (1 << 30):.2g} GiB", *peaks),
        [["peak RSS, MB", *(f"{peak / 1e6:.0f}" for peak in peaks.values())]],
        f"Memory flat, within 32 MB: {'holds' if flat else 'falls short'}.",
    )


def _peak(folder: Path, program: str, *args: object) -> int:
    command = [sys.executable, "-c", program + _SAY, *map(str, args)]
    runs.run(command, cwd=runs.ROOT, log=folder / "log")
    return int((folder / "log").read_text().split()[-2]) * 1024


# ---- What is found


def _torn(folder: Path) -> str:
    """A file of three records, cut at each place in the last of them."""
    records = list(_records(3, 700))
    rows = []
    for label, made in (("plain", records), ("gzip", [gzip.compress(r) for r in records])):
        path = folder / f"torn-{label}.warc"
        found = dict.fromkeys((OURS, WARCIO, FAST), 0)
        for cut in range(1, len(made[2])):
            path.write_bytes(made[0] + made[1] + made[2][:cut])
            found[OURS] += not _passes(_passed_here, path)
            found[WARCIO] += not _passes(_checked_by_warcio, path)
            found[FAST] += not _passes(_checked_by_fast, path)
        total = len(made[2]) - 1
        rows.append([f"{label}, {total} places", *(f"{count}" for count in found.values())])
    return markdown(
        ("torn in its last record: noticed", OURS, WARCIO, FAST),
        rows,
        "A file of three records is cut at each place in the third; each library reads it all and"
        " verifies its digests. Noticed is an error, a wrong digest or a problem that is named.",
    )


def _passes(work: Callable[[Path], object], path: Path) -> bool:
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            work(path)
    except Exception:
        return False
    return True


def _passed_here(path: Path) -> None:
    checked = check(path)
    for _ in checked:
        pass
    assert checked.passed


def _samples() -> str:
    with (SAMPLES / "manifest.tsv").open() as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    warcs = [r for r in rows if r["intact_records"].isdigit() and r["version"] != "arc"]
    ways: dict[str, Callable[[Path], Iterable[object]]] = {
        OURS: Volume,
        WARCIO: lambda path: _whole(ArchiveIterator(path.open("rb"))),
        FAST: lambda path: FastIterator(str(path), parse_http=False),
        "FastWARC, quirks": lambda path: FastIterator(
            str(path), parse_http=False, quirks_mode=True
        ),
    }
    read = {
        name: sum(_count(way, SAMPLES / r["file"]) >= int(r["intact_records"]) for r in warcs)
        for name, way in ways.items()
    }
    return markdown(
        ("odd files of which all intact records are read", *ways),
        [[f"of {len(warcs)}", *map(str, read.values())]],
        "Public sample files of other projects, most of them tests of something wrong.",
    )


def _whole(records: Iterable[object]) -> Iterator[object]:
    for record in records:
        record.raw_stream.read()  # type: ignore[attr-defined]
        yield record


def _count(way: Callable[[Path], Iterable[object]], path: Path) -> int:
    count = 0
    with contextlib.suppress(Exception), contextlib.redirect_stderr(io.StringIO()):
        for _ in way(path):
            count += 1
    return count
