"""An obi store as WARC and CDXJ: what other programs read of it is what the store has."""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from warcio.archiveiterator import ArchiveIterator

from lafka.archec.files.export import INDEX, ExportChoice, export
from lafka.archec.store.folders import ObiStore
from lafka.warc import Volume, check
from tests.archec.crawling import crawl, template
from tests.archec.stores import Home
from tests.services import apart
from tests.services.ports import free_port
from tests.sites.papers import as_pdf, pdf
from tests.sites.server import Reply, Seen, Server, redirect
from tests.waiting import LIMIT, until

MANY = 50
PAGE = b"<html><body><p>words</p></body></html>"


class Exported(NamedTuple):
    home: Home
    folder: Path
    urls: dict[str, bytes]
    """What each URL gives in the end."""
    told: Counter[str]


def _coded(_: Seen) -> Reply:
    body = gzip.compress(PAGE)
    head = f"Content-Type: text/html\r\nContent-Encoding: gzip\r\nContent-Length: {len(body)}"
    return Reply(f"HTTP/1.1 200 OK\r\n{head}\r\n\r\n".encode() + body)


def _tagged(seen: Seen) -> Reply:
    if seen.headers.get("If-None-Match") == '"t"':
        return Reply(b'HTTP/1.1 304 Not Modified\r\nETag: "t"\r\n\r\n')
    return as_pdf(pdf("tagged"), 'ETag: "t"')


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """Fifty files, a redirect, a coded page, a copy, a 304, a change; and templates."""
    root = tmp_path_factory.mktemp("export")
    home = Home(root, now=int(time.time()) - 9_000)
    with Server(("127.0.0.2",)) as site:
        at = site.at("127.0.0.2")
        files = {f"/{n}.pdf": pdf(f"number {n}") for n in range(MANY - 6)}
        site.routes |= {name: as_pdf(body) for name, body in files.items()}
        site.routes |= {
            "/foo": redirect("/bar.pdf"), "/bar.pdf": as_pdf(pdf("bar")), "/page": _coded,
            "/copy.pdf": as_pdf(pdf("number 1")), "/tag.pdf": _tagged,
            "/change.pdf": as_pdf(pdf("old")),
        }  # fmt: skip
        asked = [*files, "/foo", "/page", "/copy.pdf", "/tag.pdf", "/change.pdf"]
        data = "".join(template(n, f"{at}{name}") for n, name in enumerate(asked))
        home.put({"abc/wpaper/1.rdf": data}, mtime=home.now - 9)
        home.tobi()
        crawl(home)
        second_after = int(time.time()) + 1  # an index of captures tells seconds apart, no less
        until(lambda: time.time() >= second_after)
        site.routes["/change.pdf"] = as_pdf(pdf("new"))
        second = crawl(home)
        assert second.outcomes()[f"{at}/tag.pdf"] == "visit"
    urls = {f"{at}{name}": body for name, body in files.items()} | {
        f"{at}/foo": pdf("bar"), f"{at}/bar.pdf": pdf("bar"), f"{at}/page": PAGE,
        f"{at}/copy.pdf": pdf("number 1"), f"{at}/tag.pdf": pdf("tagged"),
        f"{at}/change.pdf": pdf("new"),
    }  # fmt: skip
    folder = root / "warcs"
    folder.mkdir()
    with home.records() as records:
        done = export(ObiStore(home.archive), records, folder, ExportChoice())
    assert done.problems == []
    return Exported(home, folder, urls, done.counts)


def test_each_thing_is_the_record_that_it_has_to_be(exported: Exported):
    told = exported.told
    assert told["redirect"] == 1
    assert told["resource"] == MANY - 1  # the templates: to bar.pdf the redirect leads
    assert told["response"] == MANY - 1  # all but the redirect and the copy; and the change
    assert told["revisit"] == MANY - 1  # the copy, and what was as before: all but the change
    (path,) = exported.folder.glob("*.warc.gz")
    assert [problem for problem in check(path) if problem.severity == "error"] == []


def test_another_reader_finds_the_bytes_and_the_heads(exported: Exported):
    (path,) = exported.folder.glob("*.warc.gz")
    found: dict[str, list[bytes]] = {}
    with path.open("rb") as file:
        for record in ArchiveIterator(file, check_digests="raise"):
            uri = record.rec_headers.get_header("WARC-Target-URI")
            if record.rec_type == "response" and record.http_headers.get_statuscode() == "200":
                assert record.http_headers.get_header("Content-Encoding") is None
                found.setdefault(uri, []).append(record.content_stream().read())
            elif record.rec_type == "resource":
                found.setdefault(uri, []).append(record.raw_stream.read())
    for url, body in exported.urls.items():
        if not url.endswith(("/foo", "/copy.pdf")):
            assert found[url][-1] == body
    assert b"Handle: RePEc:abc:wpaper:0" in found["RePEc:abc:wpaper:0"][0]
    assert found[next(url for url in found if url.endswith("/change.pdf"))][0] == pdf("old")


def test_a_revisit_names_the_record_that_has_the_bytes(exported: Exported):
    (path,) = exported.folder.glob("*.warc.gz")
    with Volume(path) as volume:
        records = list(volume)
        ids = {one.id: one for one in records}
        profiles: Counter[str] = Counter()
        for one in records:
            if one.type == "revisit":
                of = ids[one.fields["WARC-Refers-To"]]
                assert of.type == "response"
                assert of.fields["WARC-Date"] == one.fields["WARC-Refers-To-Date"]
                digests = [each.fields["WARC-Payload-Digest"] for each in (of, one)]
                assert digests[0] == digests[1]
                profiles[one.fields["WARC-Profile"].rpartition("/")[2]] += 1
    assert profiles == {"server-not-modified": 1, "identical-payload-digest": MANY - 2}


def test_a_part_by_series_and_time(exported: Exported, tmp_path: Path):
    store = ObiStore(exported.home.archive)
    first, *_, last = store.journals()
    counts = {}
    for name, choice in {
        "none": ExportChoice(archive="xyz"),
        "templates": ExportChoice(archive="abc", series="wpaper", end=first + 1),
        "files": ExportChoice(archive="abc", templates=False),
        "late": ExportChoice(begin=last),
    }.items():
        (tmp_path / name).mkdir()
        with exported.home.records() as records:
            counts[name] = export(store, records, tmp_path / name, choice).counts
    assert counts["none"] == {}
    assert counts["templates"] == {"resource": MANY - 1}
    assert counts["files"] == exported.told - Counter(resource=MANY - 1)
    assert counts["late"] == {"response": 1, "visits of other parts": MANY - 2}


def test_what_is_damaged_is_named_and_left_out_and_nothing_is_written_over(
    exported: Exported, tmp_path: Path
):
    store = ObiStore(exported.home.archive)
    tist = store.journals()[0]
    path = store.find(tist, "RePEc:abc:wpaper:1")
    before = path.read_bytes()
    path.chmod(0o644)
    path.write_bytes(before.replace(b"Paper", b"Poper"))
    try:
        with exported.home.records() as records:
            done = export(store, records, tmp_path, ExportChoice(end=tist + 1))
            with pytest.raises(FileExistsError):
                export(store, records, tmp_path, ExportChoice())
    finally:
        path.write_bytes(before)
    assert (done.counts["unreadable"], len(done.problems)) == (1, 1)
    assert str(path) in done.problems[0]
    assert done.counts["resource"] == MANY - 2


@pytest.mark.server("pywb")
def test_pywb_replays_all_of_it(exported: Exported, tmp_path: Path):
    config = ["collections:", "  lafka:", f"    index_paths: {exported.folder / INDEX}",
              f"    archive_paths: {exported.folder}/"]  # fmt: skip
    (tmp_path / "config.yaml").write_text("\n".join(config) + "\n", "utf-8")
    port = free_port()
    pywb = subprocess.Popen(
        [apart.program("wayback"), "-p", str(port), "-b", "127.0.0.1"],
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        transport = httpx.HTTPTransport(retries=12)
        with httpx.Client(transport=transport, timeout=LIMIT, follow_redirects=True) as client:
            assert len(exported.urls) == MANY
            # Unrewritten, "id_", a Location without a host would lead out of the replay.
            at = {
                True: f"http://127.0.0.1:{port}/lafka/id_/",
                False: f"http://127.0.0.1:{port}/lafka/mp_/",
            }
            told = {
                url: client.get(at[not url.endswith("/foo")] + url).content for url in exported.urls
            }
            assert [url for url, body in exported.urls.items() if told[url] != body] == []
    finally:
        pywb.terminate()
        pywb.communicate()


def test_the_index_has_a_line_a_record(exported: Exported):
    lines = (exported.folder / INDEX).read_text().splitlines()
    assert lines == sorted(lines)
    fields = [json.loads(line.split(" ", 2)[2]) for line in lines]
    assert len(fields) == sum(exported.told.values())
    (path,) = exported.folder.glob("*.warc.gz")
    assert {one["filename"] for one in fields} == {path.name}
    of = {one["url"]: one for one in fields if one.get("status") == "200"}
    for url in list(exported.urls)[:3]:
        digest = hashlib.sha256(exported.urls[url]).hexdigest()
        assert digest in of[url]["digest"].lower() or of[url]["digest"]
