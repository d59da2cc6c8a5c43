"""A platform's "download all": one capture or one file, its members read where they lie."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import random
import tarfile
import zipfile

import pytest

from lafka.filesets.archive.filesets import Filesets, make_bag
from lafka.filesets.bundles.unpacking import BadBundle
from lafka.filesets.checking.filesets import check_filesets
from tests.filesets.crawls.running import crawl, crawled, requests_file, results, warcio_check
from tests.sites.platforms import played
from tests.sites.server import chunked, reply

FILES = (("a.csv", b"a,b\n" * 500), ("sub/b.txt", b"text"))


def zipped(*files: tuple[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as bundle:
        for path, body in files:
            bundle.writestr(path, body)
    return made.getvalue()


def tarred(*files: tuple[str, bytes]) -> bytes:
    """A gzipped tar, always the same bytes."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:") as bundle:
        for path, body in files:
            info = tarfile.TarInfo(path)
            info.size = len(body)
            bundle.addfile(info, io.BytesIO(body))
    return gzip.compress(made.getvalue(), mtime=0)


def test_bundles_are_held_against_the_manifest_and_read_by_one_seek(tmp_path, site, archive):
    bundle = zipped(*FILES, ("MANIFEST.TXT", b"of the platform"))
    requests = []
    for number, (strategy, answer) in enumerate(
        (
            ("web-fileset-bundled", reply(bundle, "application/zip")),
            ("archiveorg-fileset-bundled", reply(bundle, "application/zip")),
            ("web-fileset-bundled", reply(zipped(FILES[0]), "application/zip")),
            ("web-fileset-bundled", reply(b"<html>no zip</html>", "text/html")),
            ("web-fileset-bundled", chunked(bundle[:100], bundle[100:])),
        ),
        1,
    ):
        url = site.play("zenodo", played(*FILES, number=number))
        site.routes[f"/api/records/{number}/files-archive"] = answer
        requests.append({"base_url": url, "ingest_strategy": strategy})
    listed = requests_file(tmp_path, *requests)
    crawled(archive, site, listed)
    assert site.file_requests() == []
    found = {one["request"]["base_url"][-1]: one for one in results(archive)[0]}
    site.forget()
    crawled(archive, site, listed)
    asked = {target.split("/")[3] for target in site.targets() if "archive" in target}
    assert asked == {"3", "4"}  # what was held is not fetched again
    assert {number: one["status"] for number, one in found.items()} == {
        "1": "success", "2": "success", "3": "bundle-missing-file", "4": "bundle-unreadable",
        "5": "success",
    }  # fmt: skip
    assert found["1"]["extra"] == {"bundle_extra": ["MANIFEST.TXT"]}
    assert found["1"]["fileset_bundle"]["file_meta"]["size_bytes"] == len(bundle)
    assert found["2"]["fileset_bundle"]["archiveorg_bundle_path"] == (
        "zenodo.org-2/files/zenodo.org-2.zip"
    )
    filesets = Filesets(archive)
    for number in "125":
        for path, body in FILES:
            stored = filesets.file(f"fileset:zenodo:zenodo.org:{number}", path)
            assert b"".join(stored.pieces()) == body
    item = archive / "items" / "zenodo.org-2"
    described = json.loads((item / "item.json").read_bytes())
    held = item / described["files"]["zenodo.org-2.zip"]
    assert held.read_bytes() == bundle
    assert crawl(archive, verb="verify").out == ""
    warcio_check(archive)
    start = stored_place(filesets, "fileset:zenodo:zenodo.org:2", "a.csv")
    held.write_bytes(bundle[:start] + b"\xff" * 8 + bundle[start + 8 :])
    (found_wrong,) = check_filesets(archive)
    assert found_wrong.code == "fileset-digest"
    assert "'a.csv' of version 2: cannot be read: Error -3" in found_wrong.sentence


def stored_place(filesets: Filesets, fileset: str, path: str) -> int:
    """Where the deflated bytes of a member begin."""
    bundle = filesets.file(fileset, path).entry.bundle
    assert bundle is not None
    assert (bundle.method, bundle.packed) == ("deflated", None)
    return bundle.s or 0


def test_what_a_coding_hides_of_a_bundle_is_read_where_the_coded_bytes_are_none(
    tmp_path, site, archive
):
    made = zipped(*FILES)
    coding = "Content-Encoding: gzip"
    answers = {
        "1": reply(gzip.compress(made), "application/zip", coding),
        "2": chunked(gzip.compress(made)[:50], gzip.compress(made)[50:], fields=(coding,)),
        "3": reply(tarred(*FILES), "application/x-tar", coding),  # its own compression
        "4": reply(made, "application/zip", coding),  # nothing is coded
        "5": reply(gzip.compress(b"<html>no zip</html>"), "text/html", coding),
        "6": reply(gzip.compress(made)[:-20], "application/zip", coding),
    }
    requests = []
    for kind in ("web", "archiveorg"):
        for number, answer in answers.items():
            own = f"{number}{len(kind)}"
            url = site.play("zenodo", played(*FILES, number=int(own)))
            site.routes[f"/api/records/{own}/files-archive"] = answer
            requests.append({"base_url": url, "ingest_strategy": f"{kind}-fileset-bundled"})
    listed = requests_file(tmp_path, *requests)
    run = crawl(archive, "-a", f"input={listed}", **site.settings)
    assert (run.code, run.troubles()) == (0, []), run.log
    found = {one["request"]["base_url"].rpartition("/")[2]: one for one in results(archive)[0]}
    for kind in ("3", "10"):
        assert [found[number + kind]["status"] for number in answers] == [
            *["success"] * 4, "bundle-unreadable", "bundle-unreadable"
        ]  # fmt: skip
        assert "neither a ZIP" in found[f"5{kind}"]["error_message"]
        for number, data in (("1", made), ("2", made), ("3", tarred(*FILES)), ("4", made)):
            meta = found[number + kind]["fileset_bundle"]["file_meta"]
            assert meta["sha256hex"] == hashlib.sha256(data).hexdigest()
        for number in "1234":
            for path, body in FILES:
                stored = Filesets(archive).file(f"fileset:zenodo:zenodo.org:{number}{kind}", path)
                assert b"".join(stored.pieces()) == body
    item = archive / "items" / "zenodo.org-110" / "files"
    assert [path.name for path in item.iterdir()] == ["zenodo.org-110.zip"]
    assert (item / "zenodo.org-110.zip").read_bytes() == made
    assert crawl(archive, verb="verify").out == ""
    warcio_check(archive)


NOISE = random.Random(1).randbytes(3000)
MANY = (*((f"d/{n}.txt", b"%d" % n * 99) for n in range(12)), ("noise.bin", NOISE))


def test_a_gzipped_tar_is_read_wherever_it_stands(tmp_path, site):
    archive, tar = tmp_path / "archive", gzip.decompress(tarred(*MANY, ("MORE.TXT", b"not listed")))
    cut = tar.index(NOISE)  # two gzips behind each other; in the second the bytes stand as they are
    bundle = gzip.compress(tar[:cut]) + gzip.compress(tar[cut:], 0)
    answers = (reply(bundle, "application/gzip"), chunked(bundle[:100], bundle[100:]))
    ids = [f"fileset:zenodo:zenodo.org:{number}" for number in (1, 2, 3, 4)]
    requests = []
    for number, answer in enumerate((*answers, *answers), 1):
        url = site.play("zenodo", played(*MANY, number=number))
        site.routes[f"/api/records/{number}/files-archive"] = answer
        kind = "web" if number < 3 else "archiveorg"
        requests.append({"base_url": url, "ingest_strategy": f"{kind}-fileset-bundled"})
    listed = requests_file(tmp_path, *requests)
    run = crawl(archive, "-a", f"input={listed}", **site.settings)
    assert (run.code, run.troubles()) == (0, []), run.log
    assert [one["status"] for one in results(archive)[0]] == ["success"] * 4
    assert crawl(archive, verb="verify").out == ""
    warcio_check(archive)
    filesets = Filesets(archive)
    for fileset in ids:
        for path, body in MANY:
            assert b"".join(filesets.file(fileset, path).pieces()) == body
        assert make_bag(filesets, fileset, tmp_path / "bags" / fileset) == len(MANY)
        bagged = tmp_path / "bags" / fileset / "data"
        assert all((bagged / path).read_bytes() == body for path, body in MANY)
        summary = filesets.summary_path(filesets.pid(fileset))
        before = summary.read_bytes()
        summary.unlink()
        assert filesets.rebuild(fileset).to_bytes() == summary.read_bytes() == before
    warc = filesets.warc_path(filesets.pid(ids[0]))
    item = archive / "items" / "zenodo.org-3" / "files" / "zenodo.org-3.tar.gz"
    for held in (warc, item):
        data = bytearray(held.read_bytes())
        data[data.index(NOISE[:40]) + 20] ^= 1
        held.write_bytes(data)
    told = [(found.code, found.sentence) for found in check_filesets(archive)]
    of_it = ("fileset-digest", "'noise.bin' of version {}: its sha256 is another")
    assert told == [("bad-block", "the block is not what its digest says"),
                    *((of_it[0], of_it[1].format(number)) for number in (1, 3))]  # fmt: skip
    with pytest.raises(BadBundle, match=r"noise\.bin.*CRC-32"):
        list(filesets.file(ids[0], "noise.bin").pieces())
