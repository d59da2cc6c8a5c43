"""A real ``scrapy crawl fileset`` in its own process, and what it left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

from warcio.archiveiterator import ArchiveIterator

from tests.crawls.running import ROOT, SETTINGS, Run


def command(archive: Path, *arguments: str, verb: str = "crawl", **settings: Any) -> list[str]:
    given = SETTINGS | {"LAFKA_ARCHIVE": archive} | settings
    named = [part for name, value in given.items() for part in ("-s", f"{name}={value}")]
    words = ["crawl", "fileset"] if verb == "crawl" else [verb]
    return [sys.executable, "-m", "scrapy", *words, *named, *arguments]


class FilesetCrawl:
    """A crawl that is going on; a context manager that ends it at the latest."""

    def __init__(self, archive: Path, *arguments: str, limit: str = "", **options: Any) -> None:
        line = command(archive, *arguments, **options)
        if limit:  # what a shell says before it becomes the crawl
            line = ["bash", "-c", f'{limit} && exec "$0" "$@"', *line]
        self.process = subprocess.Popen(
            line,
            cwd=ROOT,
            env=os.environ | {"PYTHONWARNINGS": "default::DeprecationWarning"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> FilesetCrawl:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def ended(self, stdin: str = "") -> Run:
        out, log = self.process.communicate(stdin, timeout=100)
        return Run(code=self.process.returncode, out=out, log=log)

    def kill(self) -> Run:
        self.process.kill()
        return self.ended()

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)


def crawl(archive: Path, *arguments: str, stdin: str = "", **options: Any) -> Run:
    with FilesetCrawl(archive, *arguments, **options) as going:
        return going.ended(stdin)


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
