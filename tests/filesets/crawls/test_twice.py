"""Platforms that answer a request twice: no file of a dataset is another's, with a digest or none.

What is late is sent when the next request comes on the connection, so nothing here is a matter of
seconds.
"""

from __future__ import annotations

import json
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from lafka.warc import open_volume
from tests import suites
from tests.crawls.running import Run
from tests.filesets.crawls.running import crawl, held, requests_file, results, warcio_check
from tests.filesets.playing import PLAYED, PlayedFile, PlayedSet
from tests.sites.platforms import file_target, played_file
from tests.sites.server import Server, _parsed, redirect, reply

FILES = 6
pytestmark = pytest.mark.draws("of the kinds of answers that come twice")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Which answers come twice, and when: as ``tests.crawls.test_twice`` has it."""

    first: Literal["file", "api", "page", "redirect"]
    when: Literal["at-once", "after", "next", "split", "behind"]
    digest: bool


KINDS = tuple(
    Kind(first=first, when=when, digest=digest)
    for first in ("file", "api", "page", "redirect")
    for when in ("at-once", "after", "next", "split", "behind")
    for digest in (True, False)
    if first != "api" or digest
)


class TwiceSite(Server):
    """A host of InvenioRDM for each kind, with a dataset of files of one size."""

    def __init__(self) -> None:
        self.kinds = suites.few("answers that come twice", KINDS)
        self._kinds = {f"127.0.40.{n + 1}": kind for n, kind in enumerate(self.kinds)}
        super().__init__(tuple(self._kinds))
        self._due: dict[socket.socket, bytes] = {}
        self.doubled: Counter[Kind] = Counter()
        self.bodies: dict[str, dict[str, bytes]] = {}
        self.urls: dict[str, Kind] = {}

    def play(self) -> None:
        for number, kind in enumerate(self._kinds.values(), 1):
            bodies = {f"{n}.txt": b"%04d of %04d" % (n, number) for n in range(FILES)}
            files = tuple(self._file(kind, *each) for each in bodies.items())
            dataset = PlayedSet(files=files, number=number)
            url, answers = PLAYED["zenodo"](dataset)
            host = f"rdm{number}.example"
            self.urls[url.replace("zenodo.org", host)] = kind
            self.bodies[f"fileset:zenodo:{host}:{number}"] = bodies
            self.routes[f"/records/{number}"] = reply(b"<html>invenio</html>")
            for address, answer in answers.items():
                text = json.dumps(answer["json"]).replace("zenodo.org", host)
                target = address.partition("zenodo.org")[2]
                self.routes[target] = reply(text.encode(), "application/json")
            for n, body in enumerate(bodies.values()):
                target = file_target("zenodo", dataset, n)
                self.routes[target] = reply(body, "application/octet-stream")
                if kind.first == "redirect":
                    self.routes[f"/bytes{target}"] = self.routes[target]
                    self.routes[target] = redirect(f"/bytes{target}")

    def _file(self, kind: Kind, path: str, body: bytes) -> PlayedFile:
        file = played_file(path, body)
        return file if kind.digest else PlayedFile(name=file.name, body=body, md5="")

    @property
    def settings(self) -> dict[str, Any]:
        bases = {f"rdm{n}.example": self.at(host) for n, host in enumerate(self._kinds, 1)}
        return {"LAFKA_PLATFORM_BASES": json.dumps(bases), "DOWNLOAD_DELAY": 0}

    def _answer(self, host: str, head: bytes, connection: socket.socket) -> bool:
        seen, kind = _parsed(host, head), self._kinds[host]
        with self._lock:
            self.seen.append(seen)
        due, own = self._due.pop(connection, b""), self._reply(seen).data
        if due and kind.when == "behind":
            self._due[connection] = own
            connection.sendall(due)
        elif due and kind.when == "split":
            connection.sendall(due[:10])
            connection.sendall(due[10:-20])
            connection.sendall(due[-20:] + own)
        elif self._is_doubled(kind, seen.target):
            self.doubled[kind] += 1
            self._double(kind, own, connection)
        else:
            connection.sendall(due + own)
        return True

    def _double(self, kind: Kind, own: bytes, connection: socket.socket) -> None:
        connection.sendall(own + own if kind.when == "at-once" else own)
        if kind.when == "after":
            with suppress(OSError):
                connection.sendall(own)
        elif kind.when != "at-once":
            self._due[connection] = own

    def _is_doubled(self, kind: Kind, target: str) -> bool:
        return {
            "page": target.startswith("/records/"),
            "api": target.startswith("/api/") and "/files/" not in target,
            "file": "/files/" in target,
            "redirect": target.startswith("/api/") and "/files/" in target,
        }[kind.first]


@dataclass(frozen=True, kw_only=True)
class Crawled:
    site: TwiceSite
    archive: Path
    run: Run


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    folder = tmp_path_factory.mktemp("twice")
    with TwiceSite() as site:
        site.play()
        asked = requests_file(folder, *site.urls)
        run = crawl(folder / "archive", "-a", f"input={asked}", **site.settings)
        yield Crawled(site=site, archive=folder / "archive", run=run)


def test_every_dataset_is_whole(crawled):
    assert crawled.run.code == 0, crawled.run.log[-3000:]
    [found] = results(crawled.archive)
    kinds = {one["request"]["base_url"]: one["status"] for one in found}
    wrong = {url: status for url, status in kinds.items() if status != "success"}
    assert [(crawled.site.urls[url], status) for url, status in wrong.items()] == []
    assert set(kinds) == set(crawled.site.urls)
    assert set(crawled.site.doubled) == set(crawled.site.kinds)


def test_no_file_is_another(crawled):
    found = held(crawled.archive)
    assert len(found) == FILES * len(crawled.site.kinds)
    wrong = [key for key, data in found.items()
             if data != crawled.site.bodies[key[0]][key[2]]]  # fmt: skip
    assert wrong == []


def test_records_say_which_connection_an_exchange_had(crawled):
    """What nothing proves is alone on its connection; files with a digest may share one."""
    assert warcio_check(crawled.archive)
    places: list[tuple[str, str]] = []
    for warc in (crawled.archive / "fileset" / "warc").rglob("*.warc"):
        with open_volume(warc) as volume:
            for record in volume.records(types=["request", "response"]):
                assert record.type == "request" or places[-1][1] == _place(record)
                places.append((record.url, _place(record)))
    numbers = Counter(place.split()[0] for _, place in places)
    assert max(numbers.values()) > 2
    unproved = [place for url, place in places if "/files/" not in url]
    assert {place.split()[1] for place in unproved} == {"1"}


def _place(record: Any) -> str:
    return str(record.fields.sole("Lafka-Connection"))
