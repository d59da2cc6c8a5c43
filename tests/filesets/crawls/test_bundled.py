"""A platform's "download all": one capture or one file, its members read where they lie."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

from lafka.filesets.archive.filesets import Filesets
from tests.filesets.crawls.running import crawl, requests_file, results, warcio_check
from tests.sites.platforms import PlatformSite, played
from tests.sites.server import chunked, reply

FILES = (("a.csv", b"a,b\n" * 500), ("sub/b.txt", b"text"))


def zipped(*files: tuple[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as bundle:
        for path, body in files:
            bundle.writestr(path, body)
    return made.getvalue()


def test_bundles_are_held_against_the_manifest_and_read_by_one_seek(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    bundle = zipped(*FILES, ("MANIFEST.TXT", b"of the platform"))
    with PlatformSite() as site:
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
        run = crawl(archive, "-a", f"input={listed}", **site.settings)
        assert run.code == 0, run.log
        assert site.file_requests() == []
        found = {one["request"]["base_url"][-1]: one for one in results(archive)[0]}
        site.forget()
        assert crawl(archive, "-a", f"input={listed}", **site.settings).code == 0
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
    assert (item / described["files"]["zenodo.org-2.zip"]).read_bytes() == bundle
    assert crawl(archive, verb="verify").out == ""
    warcio_check(archive)
