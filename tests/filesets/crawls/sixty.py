"""Sixty requests, ten for each strategy, over the loopback platforms, and what comes of them."""

from __future__ import annotations

import hashlib
import io
import json
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psycopg

from tests import starts
from tests.crawls.running import ROOT
from tests.filesets.crawls.running import held
from tests.filesets.playing import PlayedSet
from tests.sites.platforms import PlatformSite, played
from tests.sites.server import reply

EACH = 10
WAYS = {  # strategy -> platforms in turn, how many files, whether the request asks for it
    "web-file": (("zenodo", "web"), 1, False),
    "web-fileset": (("zenodo", "web"), 3, False),
    "web-fileset-bundled": (("zenodo",), 3, True),
    "archiveorg-file": (("zenodo", "archiveorg"), 1, True),
    "archiveorg-fileset": (("archiveorg",), 3, False),
    "archiveorg-fileset-bundled": (("zenodo",), 3, True),
}
_IDS = {
    "zenodo": "fileset:zenodo:zenodo.org:{}",
    "web": "fileset:web:lab.example:https://lab.example/{}/",
    "archiveorg": "fileset:archiveorg:archive.org:played-{}",
}
_ROWS = (
    "SELECT base_url, hit, status, platform_name, platform_domain, platform_id, ingest_strategy,"
    " total_size, file_count, archiveorg_item_name, manifest FROM ingest_fileset_platform"
)
Row = tuple[Any, ...]


class Sixty:
    """The datasets, put on *site*: requests, and what each of them has to come to.

    ``files``: bodies by fileset and path; ``strategies`` by URL.
    """

    def __init__(self, site: PlatformSite) -> None:
        self.requests: list[dict[str, Any]] = []
        self.strategies: dict[str, str] = {}
        self.files: dict[tuple[str, str], bytes] = {}
        self._sizes: dict[str, list[tuple[str, int, str]]] = {}
        number = 0
        for place in range(EACH):  # strategies take turns, as in a real list
            for strategy, (platforms, count, asks) in WAYS.items():
                number += 1
                self._add(site, platforms[place % len(platforms)], number, count)
                url = self.requests[-1]["base_url"]
                self.strategies[url] = strategy
                if asks:
                    self.requests[-1]["ingest_strategy"] = strategy

    def _add(self, site: PlatformSite, platform: str, number: int, count: int) -> None:
        names = ("data/a.csv", "b.txt", "c.bin")[:count]
        dataset = played(*((name, _body(number, name)) for name in names), number=number)
        url = site.play(platform, dataset)
        if platform == "zenodo":
            answer = reply(_zipped(dataset), "application/zip")
            site.routes[f"/api/records/{number}/files-archive"] = answer
        site.files.add(f"/api/records/{number}/files-archive")
        self.requests.append({"ingest_type": "dataset", "base_url": url})
        fileset = _IDS[platform].format(number)
        for file in dataset.files:
            self.files[fileset, file.path] = file.body
        self._sizes[url] = [(file.path, len(file.body), hashlib.sha256(file.body).hexdigest())
                            for file in dataset.files]  # fmt: skip

    def check_rows(self, rows: Mapping[str, Row]) -> list[str]:
        """Sentences for rows, by URL, that are not what the platforms said and sent."""
        troubles = [f"{url}: no row" for url in self.strategies.keys() - rows.keys()]
        for url, row in rows.items():
            strategy, files = self.strategies[url], self._sizes[url]
            status = "success-file" if strategy.endswith("-file") else "success"
            found = [(one["path"], one["size"], one["sha256"]) for one in row[-1]]
            told = (*row[1:3], row[6], row[7], row[8], bool(row[9]), sorted(found))
            total = sum(size for _, size, _ in files)
            is_item = strategy.startswith("archiveorg")
            wanted = (True, status, strategy, total, len(files), is_item, sorted(files))
            if told != wanted:
                troubles.append(f"{url}: {told}, not {wanted}")
        return troubles

    def check_held(self, archive: Path) -> list[str]:
        """Sentences for files that the archive does not hold as they were sent."""
        found = {(fileset, path): data for (fileset, _, path), data in held(archive).items()}
        keys = {key for key in self.files.keys() | found.keys()
                if self.files.get(key) != found.get(key)}  # fmt: skip
        return [f"{key}: not what was sent" for key in sorted(keys)]


def _body(number: int, name: str) -> bytes:
    if name.endswith(".bin"):
        return hashlib.sha512(b"%d" % number).digest() * 30
    return f"{number},{name}\n".encode() * (number + 5)


def _zipped(dataset: PlayedSet) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as bundle:
        for file in dataset.files:
            stored = zipfile.ZIP_STORED if file.name.endswith(".bin") else None
            bundle.writestr(file.path, file.body, stored)
    return made.getvalue()


def persist(archive: Path, *arguments: str | Path) -> None:
    command = [sys.executable, "-m", "scrapy", "persist", *map(str, arguments)]
    starts.run(
        [*command, "-s", f"LAFKA_ARCHIVE={archive}"],
        cwd=ROOT, capture_output=True, check=True, timeout=100,
    )  # fmt: skip


def rows(database: str) -> dict[str, Row]:
    """The rows of PostgreSQL's table, by URL."""
    with psycopg.connect(database) as connection:
        found = connection.execute(_ROWS).fetchall()
    return {row[0]: row for row in found}


def feeds(archive: Path) -> list[Path]:
    found = (archive / "runs").glob("*.jsonl")
    return sorted(path for path in found if not path.name.endswith(".dead.jsonl"))


def listed(folder: Path, sixty: Sixty) -> Path:
    path = folder / "sixty.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in sixty.requests), "utf-8")
    return path
