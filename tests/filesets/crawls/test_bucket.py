"""Items in a bucket: a crawl leaves nothing on the disk, and what it killed goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lafka.filesets.archive.filesets import Filesets, make_bag
from lafka.filesets.bundles.unpacking import BadBundle
from lafka.filesets.checking.filesets import check_filesets
from tests.crawls.running import Run
from tests.filesets.crawls.running import (
    FilesetCrawl,
    crawl,
    requests_file,
    results,
    warcio_check,
)
from tests.filesets.crawls.test_bundled import MANY, NOISE, tarred
from tests.filesets.crawls.test_items import items
from tests.services.stores import ACCESS, SECRET, Store, serving
from tests.sites.platforms import file_target, played
from tests.sites.server import reply
from tests.waiting import until

FILES = (("a.txt", b"first\n"), ("sub/b.bin", bytes(range(256)) * 300))
AT = "a/b/played-4711"


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with serving() as served:
        yield served


def no_secret(archive: Path, *runs: Run) -> None:
    """The keys of the store stand in no byte that was written, but the tokens file."""
    told = "".join(run.log + run.out for run in runs).encode()
    for path in archive.rglob("*"):
        told += path.read_bytes() if path.is_file() else b""
    assert SECRET.encode() not in told
    assert ACCESS.encode() not in told


def test_a_crawl_into_a_bucket_resumes_and_is_read_back(store, tmp_path, site):
    archive, bucket = tmp_path / "archive", store.bucket()
    given = store.settings(bucket, tmp_path)
    dataset = played(*FILES)
    url, second = site.play("archiveorg", dataset), file_target("archiveorg", dataset, 1)
    answer = site.routes[second]
    site.routes[second] = reply(b"half", "", 'ETag: "v1"', length=76_800, then="hold")
    with FilesetCrawl(archive, "-a", f"url={url}", **site.settings, **given) as going:
        until(lambda: second in site.targets())
        killed = going.kill()
    assert set(store.keys(bucket)) == {f"{AT}/.lafka.json", f"{AT}/files/a.txt"}
    site.routes[second] = answer
    site.forget()
    run = crawl(archive, "-a", f"url={url}", "-s", "LOG_LEVEL=DEBUG", **site.settings, **given)
    assert (run.code, run.troubles()) == (0, []), run.log
    assert site.file_requests() == [second]
    site.forget()
    again = crawl(archive, "-a", f"url={url}", **site.settings, **given)
    assert (again.code, site.file_requests()) == (0, []), again.log
    told = [feed[0]["status"] for feed in results(archive) if feed]
    assert told == ["success", "success-existing"]
    assert items(archive) == []
    assert not (archive / "items" / ".work" / "played-4711").exists()
    described = json.loads(store.body(bucket, f"{AT}/item.json"))
    assert {path: store.body(bucket, f"{AT}/{name}") for path, name in described["files"].items()} \
        == dict(FILES)  # fmt: skip
    warcio_check(archive)
    no_secret(archive, killed, run, again)


def test_what_the_store_refuses_is_told_and_kept_until_it_takes_it(store, tmp_path, site):
    archive, bucket = tmp_path / "archive", store.bucket()
    store.put(bucket, f"{AT}/files/a.txt")
    given = store.settings(bucket, tmp_path)
    url = site.play("archiveorg", played(*FILES))
    foreign = crawl(archive, "-a", f"url={url}", **site.settings, **given)
    assert (foreign.code, site.file_requests()) == (0, []), foreign.log
    away = given | {"LAFKA_ITEMS": "s3://none-such"}
    missing = crawl(archive, "-a", f"url={url}", **site.settings, **away)
    assert missing.code == 0, missing.log
    no_keys = crawl(archive, "-a", f"url={url}", **site.settings, **(given | {"LAFKA_TOKENS": ""}))
    assert no_keys.code == 2, no_keys.log
    told = [feed[0] for feed in results(archive)]
    assert [one["status"] for one in told] == ["error-archiveorg-upload"] * 2
    assert "an item that is not Lafka's" in told[0]["error_message"]
    assert "NoSuchBucket" in told[1]["error_message"]
    assert "LAFKA_TOKENS has no keys of 127.0.0.1" in no_keys.log
    assert store.body(bucket, f"{AT}/files/a.txt") == b"mine"
    no_secret(archive, foreign, missing, no_keys)


def test_a_gzipped_tar_in_a_bucket_is_read_member_by_member(store, tmp_path, site):
    archive, bucket = tmp_path / "archive", store.bucket()
    given, bundle = store.settings(bucket, tmp_path), tarred(*MANY)
    url = site.play("zenodo", played(*MANY))
    site.routes["/api/records/4711/files-archive"] = reply(bundle, "application/gzip")
    asked = {"base_url": url, "ingest_strategy": "archiveorg-fileset-bundled"}
    listed = requests_file(tmp_path, asked)
    run = crawl(archive, "-a", f"input={listed}", **site.settings, **given)
    assert (run.code, run.troubles()) == (0, []), run.log
    assert [one["status"] for one in results(archive)[0]] == ["success"]
    key = "a/b/zenodo.org-4711/files/zenodo.org-4711.tar.gz"
    assert store.body(bucket, key) == bundle
    fileset, target = "fileset:zenodo:zenodo.org:4711", store.target(bucket, archive / "items")
    filesets = Filesets(archive, target)
    for path, body in MANY:
        stored = filesets.file(fileset, path)
        assert stored.packed is not None
        assert b"".join(stored.pieces()) == body
    assert make_bag(filesets, fileset, tmp_path / "bag") == len(MANY)
    assert all((tmp_path / "bag/data" / path).read_bytes() == body for path, body in MANY)
    words = ("--get", fileset, "noise.bin", "-o", str(tmp_path / "noise"))
    got = crawl(archive, *words, verb="fileset", **given)
    assert (got.code, (tmp_path / "noise").read_bytes()) == (0, NOISE), got.log
    well = crawl(archive, verb="verify", **given)
    assert (well.code, well.out) == (0, ""), well.log
    store.put(bucket, key, bundle[:-900] + bytes(900))
    told = {problem.code for problem in check_filesets(archive, target.work, target)}
    assert told == {"fileset-digest"}
    with pytest.raises(BadBundle, match=r"noise\.bin"):
        list(filesets.file(fileset, "noise.bin").pieces())
