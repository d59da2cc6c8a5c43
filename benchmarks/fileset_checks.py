"""What is held checked: a fileset's files against its summary, a bundle against its manifest."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import sys
import zipfile
from pathlib import Path

from benchmarks import fileset_peers as peers
from benchmarks import fileset_site, runs
from benchmarks.fileset_rows import GIB, Bench, Way, crawl, holds, seconds, shell
from benchmarks.runs import Run
from benchmarks.tables import markdown
from lafka.filesets.bundles.children import BundleChildren
from lafka.filesets.model.bundles import BundleLimits

FILES = 200
MEMBERS = 1_000
_SHA256 = "`sha256sum`"
_ITEM, _WARC = "`scrapy verify`, in an item", "`scrapy verify`, in the WARC"


def verify(bench: Bench) -> str:
    """A fileset of 200 files, 1 GiB."""
    size = bench.bytes(GIB) // FILES
    with fileset_site.serving(bench.folder) as site:
        site.zenodo(1, [size] * FILES)
        page = ["https://zenodo.org/records/1"]
        kept = {_ITEM: bench.folder / "in-item", _WARC: bench.folder / "in-warc"}
        for folder in kept.values():
            folder.mkdir()
        crawl(kept[_ITEM], page, site.trust)
        crawl(kept[_WARC], page, site.trust, LAFKA_WEB_MAX_FILES=FILES)
        bag = bench.folder / "bag"
        fileset = f"fileset:zenodo:zenodo.org:{1}"
        made = [sys.executable, "-m", "scrapy", "fileset", "--bag", fileset, str(bag),
                "-s", f"LAFKA_ARCHIVE={kept[_ITEM] / 'archive'}"]  # fmt: skip
        runs.run(made, cwd=runs.ROOT, log=bench.folder / "bag.log")
        ways: dict[str, Way] = {
            name: lambda _, root=folder / "archive": _verified(root)
            for name, folder in kept.items()
        }
        ways["`bagit.py --validate`"] = lambda folder: shell(
            '"$1" "$2" --validate "$3"', folder, {},
            peers.program("bagit", "python"), peers.program("bagit", "bagit.py"), bag,
        )  # fmt: skip
        ways[_SHA256] = lambda folder: shell("sha256sum $1/data/*", folder, {}, bag)
        found = bench.best(ways)
    share = found[_SHA256].wall / found[_ITEM].wall
    rows = [
        [name, *seconds(run), f"{size * FILES / 1e6 / run.wall:.0f}",
         f"{found[_SHA256].wall / run.wall:.2f}"]
        for name, run in found.items()
    ]  # fmt: skip
    return markdown(
        (f"{FILES} files, {size * FILES / GIB:.2g} GiB", "wall s", "CPU s", "MB a second",
         "/ sha256sum"),
        rows,
        "Whole commands, start-up included, files in the page cache. `scrapy verify` compares MD5,"
        " SHA-1 and SHA-256 of each file, and of a WARC each record's block; the bag has MD5 and"
        f" SHA-256. An item at 60 % of `sha256sum` or better: {holds(share >= 0.6)}"
        f" ({share:.2f}). Best of {bench.rounds}.",
    )  # fmt: skip


def _verified(root: Path) -> Run:
    command = [sys.executable, "-m", "scrapy", "verify", "-s", f"LAFKA_ARCHIVE={root}"]
    return runs.run(command, cwd=runs.ROOT, log=root.with_name("verify.log"))


# ---- A bundle


def bundle(bench: Bench) -> str:
    """A ZIP of 1,000 members, 1 GiB, against its manifest."""
    path = bench.folder / "bundle.zip"
    size = bench.bytes(GIB) // MEMBERS
    manifest = _make(path, size)
    told = bench.folder / "manifest.json"
    told.write_text(json.dumps(manifest))
    members = bench.folder / "members"
    peer = "`unzip -t`, then three digests"
    shell('mkdir "$2"; unzip -q "$1" -d "$2"', bench.folder, {}, path, members)
    command = [sys.executable, "-m", "benchmarks.fileset_checks", str(path), str(told)]
    found = bench.best({
        "Lafka": lambda folder: runs.run(command, cwd=runs.ROOT, log=folder / "log"),
        peer: lambda folder: shell(
            'unzip -tq "$1"; cd "$2"; for way in md5 sha1 sha256; do ${way}sum *; done', folder,
            {}, path, members,
        ),
    })  # fmt: skip
    rows = [[name, *seconds(run), f"{run.wall / found[peer].wall:.2f}"]
            for name, run in found.items()]  # fmt: skip
    ratio = found["Lafka"].wall / found[peer].wall
    return markdown(
        (f"{MEMBERS:,} members, {size * MEMBERS / GIB:.2g} GiB", "wall s", "CPU s",
         "of the peer"),
        rows,
        f"Deflated, {path.stat().st_size / size / MEMBERS:.0%} of their size; nothing is extracted"
        " by Lafka, in a child that is started for it; the peer's digests are of members that were"
        f" extracted before. At most 1.3 times: {holds(ratio <= 1.3)} ({ratio:.2f})."
        f" Best of {bench.rounds}.",
    )  # fmt: skip


def _make(path: Path, size: int) -> dict[str, str]:
    """A ZIP of text that deflates to three quarters; MD5 by member."""
    text = base64.b64encode(random.Random(size).randbytes(size))[:size]
    found = {}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for number in range(MEMBERS):
            body = text[number:] + text[:number]
            archive.writestr(f"{number}.txt", body)
            found[f"{number}.txt"] = hashlib.md5(body).hexdigest()
    return found


def check(path: Path, manifest: dict[str, str]) -> None:
    children = BundleChildren(1)
    contents = children.bundle(path, BundleLimits.for_files(MEMBERS, 64 * GIB))
    children.stop()
    seen = {member.path: member.md5 for member in contents.members}
    if seen != manifest:
        raise SystemExit(f"another manifest: {contents.trouble}")


if __name__ == "__main__":
    check(Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text()))
