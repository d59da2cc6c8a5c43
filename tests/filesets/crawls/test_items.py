"""Huge files into items: streamed into parts, asked for again where they broke off."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

import pytest

from tests import suites, waiting
from tests.filesets.crawls.running import (
    FilesetCrawl,
    crawl,
    crawled,
    held,
    requests_file,
    results,
    warcio_check,
)
from tests.sites.platforms import file_target, played, ranged
from tests.sites.server import Reply, Seen, chunked, in_turn, reply

BIG = bytes(range(256)) * 3000 + b"\0" * 700_000 + b"end"


def items(archive: Path) -> list[str]:
    """Every file in the items, by path, without the markers."""
    found = (path for path in (archive / "items").rglob("*") if path.is_file())
    return sorted(path.relative_to(archive / "items").as_posix() for path in found
                  if path.name != ".lafka.json")  # fmt: skip


def _offset(told: Path) -> int:
    """How far the part is of which *told* tells."""
    return int(json.loads(told.read_bytes())["offset"])


def test_an_item_holds_what_its_description_names_and_the_warc_how_it_came(site, archive):
    dataset = played(("big.bin", BIG), ("sub/Small name?.txt", b"small"))
    url = site.play("archiveorg", dataset)
    run = crawl(archive, "-a", f"url={url}", **site.settings)
    assert (run.code, run.troubles()) == (0, []), run.log
    [[result]] = results(archive)
    assert result["status"] == "success", result
    assert result["ingest_strategy"] == "archiveorg-fileset"
    assert result["archiveorg_item_name"] == "played-4711"
    site.forget()
    crawled(archive, site, url, "-a", "force=1")
    assert len(site.file_requests()) == 2
    assert results(archive)[1][0]["status"] == "success"
    assert {path: data for (_, _, path), data in held(archive).items()} == {
        "big.bin": BIG, "sub/Small name?.txt": b"small"
    }  # fmt: skip
    folder = archive / "items" / "played-4711"
    described = json.loads((folder / "item.json").read_bytes())
    assert {(folder / local).read_bytes() for local in described["files"].values()} == {
        BIG, b"small"
    }  # fmt: skip
    assert set(described["files"]) == {"big.bin", "sub/Small name?.txt"}
    assert not any(".part-" in name for name in items(archive))
    warcio_check(archive)
    warcs = b"".join(p.read_bytes() for p in (archive / "fileset" / "warc").rglob("*.warc"))
    assert len(warcs) < 60_000
    assert b"GET /download/played-4711/big.bin HTTP/1.1" in warcs


def test_a_broken_download_goes_on_at_its_byte(site, archive):
    dataset = played(("big.bin", BIG), ("b", b"b"))
    url = site.play("archiveorg", dataset)
    target = file_target("archiveorg", dataset, 0)
    cut = reply(BIG[:500_000], "application/octet-stream", 'ETag: "v1"', length=len(BIG),
                then="close")  # fmt: skip
    rest = ranged(BIG)
    asked: list[str] = []

    def handle(seen: Seen) -> Reply:
        asked.append(seen.headers.get("Range", ""))
        return cut if len(asked) == 1 else rest(seen)

    site.routes[target] = handle
    crawled(archive, site, url)
    assert results(archive)[0][0]["status"] == "success"
    assert asked == ["", "bytes=500000-"]
    assert held(archive)["fileset:archiveorg:archive.org:played-4711", "2", "big.bin"] == BIG


def test_another_file_under_the_same_url_is_begun_anew(site, archive):
    dataset = played(("big.bin", BIG), ("b", b"b"))
    url = site.play("archiveorg", dataset)
    cut = reply(b"x" * 400_000, "", 'ETag: "old"', length=len(BIG), then="close")
    site.routes[file_target("archiveorg", dataset, 0)] = in_turn(cut, reply(BIG, "", 'ETag: "v1"'))
    crawled(archive, site, url)
    assert held(archive)["fileset:archiveorg:archive.org:played-4711", "2", "big.bin"] == BIG


def test_a_coding_is_undone_only_where_the_coded_bytes_are_not_the_file(tmp_path, site, archive):
    table = b"a,b\n1,2\n" * 20_000
    files = (("a.csv", table), ("a.csv.gz", gzip.compress(table, mtime=0)), ("wrong.csv", b"1,2\n"))
    coded = reply(gzip.compress(table, mtime=0), "text/csv", "Content-Encoding: gzip", 'ETag: "v1"')
    urls = []
    for platform in ("archiveorg", "zenodo"):  # into an item, into a WARC
        dataset = played(*files)
        urls.append(site.play(platform, dataset))
        for number in range(len(files)):
            site.routes[file_target(platform, dataset, number)] = coded
    run = crawl(archive, "-a", f"input={requests_file(tmp_path, *urls)}", **site.settings)
    assert run.code == 0, run.log
    for result in results(archive)[0]:
        told = [file["status"] for file in result["manifest"]]
        assert told == ["success", "success", "mismatch-size"], result
    assert sorted((path, data) for (*_, path), data in held(archive).items()) == [
        (path, data) for path, data in files[:2] for _ in urls
    ]
    assert items(archive) == [f"played-4711/files/{name}" for name in
                              ("a.csv", "a.csv.gz", "wrong.csv.mismatch")]  # fmt: skip
    assert warcio_check(archive)
    assert crawl(archive, verb="verify").out == ""


def test_a_broken_transfer_coding_into_an_item_has_its_name(site, archive):
    dataset = played(("broken", BIG), ("cut", BIG), ("whole", BIG[:5000]))
    url = site.play("archiveorg", dataset)
    targets = [file_target("archiveorg", dataset, number) for number in range(3)]
    site.routes[targets[0]] = chunked(BIG[:200_000], end=b"zzz\r\n\r\n")
    cut = chunked(BIG[:200_000], end=b"10\r\nearly")
    site.routes[targets[1]] = Reply(cut.data, "close")
    site.routes[targets[2]] = chunked(BIG[:100], BIG[100:5000])
    crawled(archive, site, url, LAFKA_FILESET_TRIES=2)
    asked = [seen.target for seen in site.seen if seen.target in targets]
    [[result]] = results(archive)
    assert [file["status"] for file in result["manifest"]] == [
        "transfer-encoding-error", "error-platform-download", "success"
    ]  # fmt: skip
    assert result["status"] == "transfer-encoding-error"
    assert "chunk" in result["error_message"]
    assert asked.count(targets[0]) == 3  # two tries got no further byte


def test_what_is_twice_another_file_is_set_aside(site, archive):
    dataset = played(("big.bin", BIG), ("b", b"b"))
    url = site.play("archiveorg", dataset)
    wrong = hashlib.sha512(BIG).digest() * (len(BIG) // 64 + 1)
    site.routes[file_target("archiveorg", dataset, 0)] = reply(wrong[: len(BIG)], "")
    crawled(archive, site, url)
    assert len(site.file_requests()) == 3
    [[result]] = results(archive)
    assert result["status"] == "mismatch-sha1" or result["status"] == "mismatch-md5"
    assert [file["status"] for file in result["manifest"]] == [result["status"], "success"]
    assert "played-4711/files/big.bin.mismatch" in items(archive)
    assert "played-4711/item.json" not in items(archive)


def test_a_kill_loses_no_byte_that_was_synced(site, archive):
    dataset = played(("a", b"first"), ("big.bin", BIG))
    url = site.play("archiveorg", dataset)
    target = file_target("archiveorg", dataset, 1)
    part = reply(BIG[:600_000], "", 'ETag: "v1"', length=len(BIG), then="hold")
    site.routes[target] = part
    with FilesetCrawl(archive, "-a", f"url={url}", **site.settings) as going:
        told = archive / "items/played-4711/files/.part-big.bin.json"
        waiting.until(lambda: told.exists() and _offset(told) == 600_000, going.process.pid)
        assert json.loads(told.read_bytes())["length"] == len(BIG)
        going.kill()
    site.routes[target] = ranged(BIG)
    site.forget()
    crawled(archive, site, url)
    asked = [seen.headers.get("Range") for seen in site.seen if seen.target == target]
    assert asked == ["bytes=600000-"]
    assert site.file_requests() == [target]
    assert results(archive)[-1][0]["status"] == "success"
    assert {path: data for (_, _, path), data in held(archive).items()} == {
        "a": b"first", "big.bin": BIG
    }  # fmt: skip
    assert not list((archive / "fileset" / "raw").iterdir())


def test_a_folder_that_is_not_lafkas_is_left_alone(site, archive):
    foreign = archive / "items" / "played-4711" / "mine.txt"
    foreign.parent.mkdir(parents=True)
    foreign.write_bytes(b"mine")
    (archive / "warc").mkdir()
    url = site.play("archiveorg", played(("a", b"first"), ("b", b"second")))
    crawled(archive, site, url)
    assert site.file_requests() == []
    assert results(archive)[0][0]["status"] == "error-archiveorg-upload"
    assert items(archive) == ["played-4711/mine.txt"]


@pytest.mark.long("a file of 256 MB")
def test_a_file_larger_than_its_memory_streams_past_it(tmp_path, site):
    archive, size = tmp_path / "archive", 256 << 20
    dataset = played(("zeros.bin", bytes(size)), ("b", b"b"))
    url = site.play("archiveorg", dataset)
    crawled(archive, site, url)
    assert results(archive)[0][0]["status"] == "success"
    state = (archive / "items" / "played-4711" / "files" / "zeros.bin").stat()
    assert state.st_size == size
    assert state.st_blocks * 512 < 1 << 20  # zeros are a hole
    [report] = (archive / "runs").glob("*.json")
    assert json.loads(report.read_bytes())["memory"] < 200 << 20
    assert sum(path.stat().st_size for path in archive.rglob("*.warc")) < 1 << 20


@pytest.mark.draws("of the bits of files")
def test_a_flipped_bit_is_healed_by_a_refresh(tmp_path, site, archive):
    """Bits of files in items and as many of files in WARCs, each of another dataset."""
    body, count = BIG[:1000], suites.amount(5, 20)
    flips = [step * 997 // (count - 1) for step in range(count)]
    urls = [
        site.play(platform, played(("a.bin", body), ("b", b"b"), number=1000 + number))
        for number in range(count)
        for platform in ("archiveorg", "zenodo")
    ]
    asked = requests_file(tmp_path, *urls)
    crawled(archive, site, asked)
    whole = held(archive)
    for number, flip in enumerate(flips):
        for platform in ("archiveorg", "zenodo"):
            flip_bit(archive, platform, 1000 + number, flip)
    rotten = sum(data != whole[key] for key, data in held(archive).items())
    assert rotten == 2 * count
    site.forget()
    crawled(archive, site, asked, "-a", "refresh=all")
    assert len(site.file_requests()) == 4 * count
    site.forget()
    crawled(archive, site, asked)
    assert site.seen == []
    assert {result["status"] for result in results(archive)[1]} == {"success"}
    assert held(archive) == whole
    aside = list((archive / "items").rglob("*.mismatch"))
    assert len(aside) == count
    assert all(path.read_bytes() != body for path in aside)
    assert not [name for name in items(archive) if ".part-" in name]


def flip_bit(archive: Path, platform: str, number: int, flip: int) -> None:
    """Flip a bit of byte *flip* of ``a.bin``, where it stands."""
    [summary] = (archive / "fileset" / "suwaf").rglob(f"*{platform}*{number}*.json")
    values = json.loads(summary.read_bytes())
    [versions] = (value for name, value in values.items() if name != "_warc")
    [version] = versions.values()
    entry = version["files"]["a.bin"]
    place = archive / "fileset" / "warc" / summary.relative_to(archive / "fileset" / "suwaf")
    place = place.with_suffix(".warc")
    if "item" in entry:
        place = archive / "items" / entry["item"] / entry["name"]
    data = bytearray(place.read_bytes())
    data[entry.get("s", 0) + flip] ^= 1 << flip % 8
    place.write_bytes(data)


def test_other_content_is_no_rot(site, archive):
    """What stands as it was kept stays, whatever the platform says of it now."""
    url = site.play("archiveorg", played(("a", b"one"), ("b", b"b")))
    crawled(archive, site, url)
    site.play("archiveorg", played(("a", b"two"), ("b", b"b")))
    crawled(archive, site, url, "-a", "force=1")
    [result] = results(archive)[1]
    assert result["status"] == "mismatch-existing"
    assert result["error_message"] == "'a': played-4711/files/a: other content is there"
    assert (archive / "items/played-4711/files/a").read_bytes() == b"one"
