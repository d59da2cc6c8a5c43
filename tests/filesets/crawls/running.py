"""A real ``lafka crawl fileset`` in its own process, and what it left behind."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

from warcio.archiveiterator import ArchiveIterator

from tests.crawls.running import Crawl, Run, scrapy
from tests.sites.platforms import PlatformSite


def command(archive: Path, *arguments: str, verb: str = "crawl", **settings: Any) -> list[str]:
    words = ["crawl", "fileset"] if verb == "crawl" else [verb]
    return scrapy(words, arguments, {"LAFKA_ARCHIVE": archive} | settings, program="lafka")


class FilesetCrawl(Crawl):
    """A crawl of filesets, or another *verb* on their archive, that is going on."""

    command = staticmethod(command)


def crawl(archive: Path, *arguments: str, stdin: str = "", **options: Any) -> Run:
    with FilesetCrawl(archive, *arguments, **options) as going:
        return going.ended(stdin)


def crawled(
    archive: Path,
    site: PlatformSite,
    asked: Any,
    *more: str,
    **settings: Any,
) -> Run:
    """The crawl of *asked* over *site*, which ends well: a URL, a file of requests, or these."""
    if isinstance(asked, str):
        source = f"url={asked}"
    else:
        listed = asked if isinstance(asked, Path) else requests_file(archive.parent, *asked)
        source = f"input={listed}"
    run = crawl(archive, "-a", source, *more, **site.settings, **settings)
    assert run.code == 0, run.log
    return run


def requests_file(folder: Path, *requests: Any) -> Path:
    """An input of *requests*: URLs or objects, a line each."""
    lines = [r if isinstance(r, str) else json.dumps({"ingest_type": "dataset", **r})
             for r in requests]  # fmt: skip
    path = folder / f"requests-{len(list(folder.glob('requests-*')))}.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


def results(archive: Path) -> list[list[dict[str, Any]]]:
    """The results of each run, oldest first, without the feed's chain."""
    paths = sorted((archive / "runs").glob("*.jsonl"))
    feeds = [path for path in paths if not path.name.endswith(".dead.jsonl")]
    found = [[json.loads(line) for line in feed.read_bytes().splitlines()] for feed in feeds]
    for feed in found:
        for result in feed:
            del result["chain"]
    return found


def held(archive: Path) -> dict[tuple[str, str, str], bytes]:
    """Every file of every summary, cut out of its WARC or read from its item by itself alone."""
    found = {}
    for summary in sorted((archive / "fileset" / "suwaf").rglob("*.json")):
        if summary.name.startswith(".draft-"):
            continue  # of a writer that was killed before it named it
        warc = summary.relative_to(archive / "fileset" / "suwaf").with_suffix(".warc")
        values = json.loads(summary.read_bytes())
        values.pop("_warc")
        for fileset, versions in values.items():
            for name, version in versions.items():
                for path, entry in version["files"].items():
                    place = archive / "fileset" / "warc" / warc
                    if "item" in entry:
                        place = archive / "items" / entry["item"] / entry["name"]
                    found[fileset, name, path] = cut_out(place, entry)
    return found


def cut_out(place: Path, entry: dict[str, Any]) -> bytes:
    """The file of *entry*, which is or stands in the file at *place*; a member unpacked."""
    where = entry.get("bundle", entry)
    with place.open("rb") as file:
        file.seek(where.get("s", 0))
        data = file.read(where["l"])
    return zlib.decompress(data, -15) if where.get("method") == "deflated" else data


def payload_bytes(archive: Path) -> int:
    """Bytes of all fileset WARCs together."""
    return sum(warc.stat().st_size for warc in (archive / "fileset" / "warc").rglob("*.warc"))


def warcio_check(archive: Path) -> int:
    """What ``warcio check`` does with every fileset WARC; how many records there are."""
    count = 0
    for warc in (archive / "fileset" / "warc").rglob("*.warc"):
        with warc.open("rb") as file:
            for record in ArchiveIterator(file, check_digests=True):
                while record.raw_stream.read(1 << 20):
                    pass
                assert record.digest_checker.passed is not False, (warc, record.rec_headers)
                count += 1
    return count
