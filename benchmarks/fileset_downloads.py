"""Files fetched: one of 8 GiB, many small ones, items, a broken download, 64 GiB of zeros."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import fileset_peers as peers
from benchmarks import fileset_site, runs
from benchmarks.fileset_rows import (
    GIB,
    Bench,
    Way,
    crawl,
    crawl_command,
    holds,
    kill,
    peak_now,
    results,
    seconds,
    shell,
)
from benchmarks.fileset_site import Held, Site
from benchmarks.runs import Run
from benchmarks.tables import markdown
from lafka.settings import EXTENSIONS

LAFKA = "Lafka"
IA = "`ia download --checksum`, twice"
"""It looks at checksums of what is there already: only the second time it verifies."""
HEAD = ("wall s", "CPU s")
KILLED_AT = 0.6


def huge(bench: Bench) -> str:
    """One file of 8 GiB to an item."""
    size = bench.bytes(8 * GIB)
    fileset_site.room(bench.folder, 3 * size)
    with fileset_site.serving(bench.folder) as site:
        [file] = site.zenodo(1, [size])
        path = _linked(site, file)
        found = bench.best(_huge_ways(site, file, path))
    fastest = min(found, key=lambda name: found[name].wall if name != LAFKA else float("inf"))
    ratio = found[LAFKA].wall / found[fastest].wall
    rows = [[name, *seconds(run), f"{run.wall / found[fastest].wall:.2f}"]
            for name, run in found.items()]  # fmt: skip
    return markdown(
        (f"one file of {size / GIB:g} GiB", *HEAD, "of the fastest peer"), rows,
        f"All end with the file synced; Lafka and the first peer compute MD5, SHA-1 and SHA-256,"
        f" the others one digest. At most 1.2 times the wall time of the fastest that verifies"
        f" ({fastest}): {holds(ratio <= 1.2)} ({ratio:.2f}). Best of {bench.rounds}.",
    )  # fmt: skip


def _linked(site: Site, file: Held) -> str:
    """An archive.org item with the same bytes as the Zenodo record 1; its name."""
    name = "huge-1"
    site.archiveorg(name, [0])
    same = site.folder / f"archive.org/download/{name}/{file.name}"
    same.unlink()
    same.hardlink_to(site.folder / f"zenodo.org/api/records/1/files/{file.name}/content")
    described = site.folder / f"archive.org/metadata/{name}/index.json"
    text = described.read_text().replace('"size": "0"', f'"size": "{file.size}"')
    empty = ("d41d8cd98f00b204e9800998ecf8427e", "da39a3ee5e6b4b0d3255bfef95601890afd80709")
    described.write_text(text.replace(empty[0], file.md5).replace(empty[1], file.sha1))
    return name


def _huge_ways(site: Site, file: Held, item: str) -> dict[str, Way]:
    url = f"https://zenodo.org/api/records/1/files/{file.name}/content"
    by_wget = (
        'wget -q -O file "$1" && { md5sum file > md5 & sha1sum file > sha1 & sha256sum file & };'
        ' sync -d file; wait; grep -q "$2" md5 && grep -q "$3" sha1'
    )
    retrieved = '"$1" -c "$2" "$3" "md5:$4" . && sync -d file'
    return {
        LAFKA: lambda folder: crawl(folder, ["https://zenodo.org/records/1"], site.trust),
        "`wget`, then three digests side by side": lambda folder: shell(
            by_wget, folder, site.trust, url, file.md5, file.sha1
        ),
        "`zenodo_get`": lambda folder: shell(
            '"$1" -v 0 -o . 1 && sync -d "$2"', folder, site.trust,
            peers.program("zenodo_get"), file.name,
        ),
        IA: lambda folder: shell(
            'for turn in 1 2; do "$1" download --checksum "$2"; done; sync -d "$2/$3"',
            folder, site.trust,
            peers.program("ia"), item, file.name,
        ),
        "`pooch`": lambda folder: shell(
            retrieved, folder, site.trust,
            peers.program("pooch", "python"), peers.RETRIEVE, url, file.md5,
        ),
    }  # fmt: skip


def records(bench: Bench) -> str:
    """A hundred Zenodo records of ten files of 200 kB, to the WARC."""
    count, files, size = bench.count(100), 10, 200_000
    numbers = range(1, count + 1)
    get, wget = "`zenodo_get`, one a record", "`wget -i`, all files"
    with fileset_site.serving(bench.folder) as site:
        for number in numbers:
            site.zenodo(number, [size] * files)
        pages = [f"https://zenodo.org/records/{number}" for number in numbers]
        urls = bench.folder / "urls"
        urls.write_text("".join(
            f"https://zenodo.org/api/records/{number}/files/{n}.bin/content\n"
            for number in numbers for n in range(files)
        ))  # fmt: skip
        found = bench.best({
            LAFKA: lambda folder: crawl(folder, pages, site.trust),
            get: lambda folder: shell(
                'for n in $(seq "$2"); do "$1" -v 0 -o "$n" "$n"; done', folder, site.trust,
                peers.program("zenodo_get"), count,
            ),
            wget: lambda folder: shell('wget -q -i "$1"', folder, site.trust, urls),
        })  # fmt: skip
    rows = [[name, *seconds(run), f"{count / run.wall:.1f}", f"{run.cpu / found[wget].cpu:.2f}"]
            for name, run in found.items()]  # fmt: skip
    cpu = found[LAFKA].cpu / found[wget].cpu
    return markdown(
        (f"{count} records of {files} files of 200 kB", *HEAD, "records a second", "CPU / wget"),
        rows,
        f"More records a second than `zenodo_get`: {holds(found[LAFKA].wall < found[get].wall)}."
        f" At most 2.5 times the CPU of `wget -i`, which verifies nothing and keeps no exchange:"
        f" {holds(cpu <= 2.5)} ({cpu:.2f}). Best of {bench.rounds}.",
    )


def small(bench: Bench) -> str:
    """CPU of a run with one small file, and of each one more, in alternating runs."""
    size, get, scrapy = 20_000, "`zenodo_get`", "Scrapy's FilesPipeline"
    counts = (1, bench.count(150), bench.count(600))
    with fileset_site.serving(bench.folder) as site:
        for number, files in enumerate(counts):
            site.zenodo(number + 1, [size] * files)
        found = [bench.medians(_small_ways(site, (get, scrapy), n + 1)) for n in range(len(counts))]
    few, many = counts[1] - 1, counts[2] - counts[1]
    rows, each = [], {}
    for name in (LAFKA, get, scrapy):
        one, some, all_ = (took[name] for took in found)
        each[name] = (
            one.cpu,
            1000 * (some.cpu - one.cpu) / few,
            1000 * (all_.cpu - some.cpu) / many,
        )
        rows.append([name, *(f"{run.cpu:.2f}" for run in (one, some, all_)),
                     *(f"{ms:.1f}" for ms in each[name][1:]), f"{some.wall:.1f}"])  # fmt: skip
    start, first, later = (ours / its for ours, its in zip(each[LAFKA], each[get], strict=True))
    run = found[1][LAFKA].cpu / found[1][get].cpu
    bare = each[scrapy][2] / each[get][2]
    return markdown(
        ("a record of files of 20 kB", *(f"CPU s, files: {count}" for count in counts),
         f"ms a file more, to {counts[1]}", f"to {counts[2]}", f"wall s, {counts[1]} files"), rows,
        "User and system. Lafka keeps the exchange of each file, computes three digests, and syncs"
        f" each file, and their records together. Of the peer's: the start {start:.1f}, a file more"
        f" {first:.1f} and {later:.1f}, {counts[1]} files {run:.1f} by CPU and"
        f" {found[1][LAFKA].wall / found[1][get].wall:.1f} by the clock. At most 1.3 times a small"
        f" file: {holds(later <= 1.3)}. Scrapy's own pipeline, which verifies, records and syncs"
        f" nothing: {bare:.1f}. Medians of {bench.rounds}.",
    )  # fmt: skip


def _small_ways(site: Site, peer: tuple[str, str], number: int) -> dict[str, Way]:
    get, scrapy = peer
    record = f"https://zenodo.org/api/records/{number}"
    return {
        scrapy: lambda folder: runs.run(
            runs.peer("record_spider.py", record, FILES_STORE=folder / "files"),
            cwd=folder,
            log=folder / "log",
            more=site.trust,
        ),
        LAFKA: lambda folder: crawl(
            folder,
            [f"https://zenodo.org/records/{number}"],
            site.trust,
            LAFKA_FILESET_MAX_FILES=1000,
        ),
        get: lambda folder: shell(
            '"$1" -v 0 -o . "$2"', folder, site.trust, peers.program("zenodo_get"), number
        ),
    }


def items(bench: Bench) -> str:
    """Twenty archive.org items of twenty files of 1 MB, to items."""
    count, files, size = bench.count(20), 20, 1_000_000
    names = [f"item-{number}" for number in range(count)]
    peer = IA
    with fileset_site.serving(bench.folder) as site:
        for name in names:
            site.archiveorg(name, [size] * files)
        (bench.folder / "names").write_text("".join(f"{name}\n" for name in names))
        pages = [f"https://archive.org/details/{name}" for name in names]
        found = bench.best({
            LAFKA: lambda folder: crawl(folder, pages, site.trust),
            peer: lambda folder: shell(
                'for turn in 1 2; do "$1" download --checksum --itemlist "$2" > out; done',
                folder, site.trust,
                peers.program("ia"), bench.folder / "names",
            ),
        })  # fmt: skip
    rows = [[name, *seconds(run), f"{run.wall / found[peer].wall:.2f}"]
            for name, run in found.items()]  # fmt: skip
    return markdown(
        (f"{count} items of {files} files of 1 MB", *HEAD, "of the peer"), rows,
        "Both compare MD5 with what the item says; Lafka SHA-1 too, and syncs each file. Faster:"
        f" {holds(found[LAFKA].wall < found[peer].wall)}. Best of {bench.rounds}.",
    )  # fmt: skip


# ---- Broken off


def resume(bench: Bench) -> str:
    """A download killed at 60 %, and begun again."""
    size = bench.bytes(8 * GIB)
    fileset_site.room(bench.folder, 2 * size)
    rows, verdict = [], ""
    with fileset_site.serving(bench.folder) as site:
        [file] = site.zenodo(1, [size])
        url = f"https://zenodo.org/api/records/1/files/{file.name}/content"
        for name, command in {
            LAFKA: lambda folder: crawl_command(folder, ["https://zenodo.org/records/1"]),
            "`zenodo_get`": lambda folder: [peers.program("zenodo_get"), "-v", "0", "-o",
                                            str(folder), "1"],
            "`wget -c`": lambda folder: ["wget", "-q", "-c", "-O", str(folder / "f"), url],
        }.items():  # fmt: skip
            run, share = _resumed(bench, site, command, size, own=name == LAFKA)
            rows.append([name, f"{run.wall:.1f}", f"{run.cpu:.1f}", f"{share:.0%}"])
            verdict = verdict or f"{holds(share <= 0.45)} ({share:.0%})"
    return markdown(
        (f"{size / GIB:g} GiB, killed at 60 %", "wall s after", "CPU s after", "bytes again"), rows,
        "What the second run took and fetched. `wget -c` verifies nothing; Lafka hashes again what"
        " it has, with three digests, and computes the rest as it comes. At most 45 % of the bytes"
        f" again: {verdict}. One round.",
    )  # fmt: skip


def _resumed(
    bench: Bench, site: Site, command: Callable[[Path], list[str]], size: int, *, own: bool
) -> tuple[Run, float]:
    """What the second run took, and which share of the bytes it was sent."""
    folder = bench.folder / f"resumed-{time.monotonic_ns()}"
    folder.mkdir()
    _killed(command(folder), folder, KILLED_AT * size, site)
    before = site.served()
    log = folder / "log"
    run = runs.run(command(folder), cwd=runs.ROOT if own else folder, log=log, more=site.trust)
    if own and not results(folder / "archive")[-1]["hit"]:
        raise SystemExit(log.read_text()[-3000:])
    subprocess.run(["rm", "-r", folder], check=True)
    return run, (site.served() - before) / size


def _killed(command: Sequence[str], folder: Path, at: float, site: Site) -> None:
    """Run *command* until *at* bytes of its file are there; then kill it."""
    env = {**runs.environment(), **site.trust}
    with (folder / "killed.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=runs.ROOT, env=env, stdout=log, stderr=log)
    while process.poll() is None and _biggest(folder) < at:
        time.sleep(0.01)
    if process.poll() is not None:
        raise SystemExit(f"it ended\n{(folder / 'killed.log').read_text()[-3000:]}")
    kill(process)
    time.sleep(0.5)  # nginx notes an answer in its log when its connection is gone


def _biggest(folder: Path) -> int:
    sizes = [0]
    for path in folder.rglob("*"):
        try:
            sizes.append(path.stat().st_size)
        except OSError:  # it has another name by now
            continue
    return max(sizes)


# ---- Zeros


def zeros(bench: Bench) -> str:
    """64 GiB of zeros, streamed to an item, killed once, resumed."""
    size = bench.bytes(64 * GIB)
    with fileset_site.serving(bench.folder) as site:
        site.zenodo(1, [size], zeros=True)
        folder = bench.folder / "archive-of-zeros"
        folder.mkdir()
        gaps = folder / "gaps"
        extensions = json.dumps({**EXTENSIONS, "benchmarks.gaps.Gaps": 0})
        settings = {"EXTENSIONS": extensions, "BENCHMARK_GAPS": gaps}
        command = crawl_command(folder, ["https://zenodo.org/records/1"], **settings)
        _killed(command, folder, 0.5 * size, site)
        watched = _Watched(folder)
        run = runs.run(
            command, cwd=runs.ROOT, log=folder / "log", more=site.trust, each_second=watched.look
        )
        result = results(folder / "archive")[-1]
        if not result["hit"]:
            raise SystemExit(f"{result}\n{(folder / 'log').read_text()[-3000:]}")
        disk = sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())
        gap = float(gaps.read_text())
    row = [f"{run.peak / 1e6:.0f}", f"{watched.early / 1e6:.0f}", f"{watched.late / 1e6:.0f}",
           f"{gap:.2f}", f"{disk / 1e6:.1f}", f"{run.wall:.0f}", f"{run.cpu:.0f}"]  # fmt: skip
    flat = watched.late <= watched.early + 20_000_000
    return markdown(
        (f"{size / GIB:g} GiB of zeros", "peak MB", "to 1 GiB", "after", "longest stall s",
         "disk MB", "wall s", "CPU s"),
        [["resumed at the half", *row]],
        "Of the second run, the first was killed. The part is hashed again first. Peak memory"
        f" under 200 MiB: {holds(run.peak < 200 << 20)}, flat: {holds(flat)}; reactor stalls under"
        f" 1 s: {holds(gap < 1)}; disk under 1 GiB: {holds(disk < GIB)}. One round.",
    )  # fmt: skip


class _Watched:
    """What a process held while it fetched its first GiB, and afterwards."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._begun: int | None = None
        self.early = self.late = 0

    def look(self, pid: int) -> None:
        try:
            held = peak_now(pid)
        except (OSError, IndexError):
            return
        size = _biggest(self._folder)
        self._begun = size if self._begun is None else self._begun
        if size < self._begun + GIB:
            self.early = max(self.early, held)
        else:
            self.late = max(self.late, held)
