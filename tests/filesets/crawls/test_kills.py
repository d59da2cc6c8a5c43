"""Kills and faults: a file at most is lost, and what is damaged is told and mended."""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from lafka.filesets.archive.filesets import Filesets
from tests.crawls.running import ROOT, Run
from tests.crawls.test_disk import SCRIPT, can_mount
from tests.filesets.crawls.running import (
    FilesetCrawl,
    command,
    crawl,
    crawled,
    held,
    requests_file,
    results,
    warcio_check,
)
from tests.sites.platforms import file_target, played
from tests.sites.server import Reply, Seen, reply
from tests.waiting import LIMIT

FILES = tuple((f"f{n}.txt", b"file %d\n" % n * 100) for n in range(4))


def test_a_killed_crawl_asks_only_for_what_is_missing(site, archive):
    dataset = played(*FILES)
    url = site.play("zenodo", dataset)
    third = file_target("zenodo", dataset, 2)
    answer = site.routes[third]
    site.routes[third] = reply(b"", "", length=900, then="hold")
    with FilesetCrawl(archive, "-a", f"url={url}", **site.settings) as going:
        site.wait_until_asked(third)
        going.kill()
    # The second waits for its commit; the next run rolls it forward.
    assert {"f0.txt"} <= {path for *_, path in held(archive)} <= {"f0.txt", "f1.txt"}
    assert list((archive / "fileset" / "raw").iterdir())
    site.routes[third] = answer
    site.forget()
    crawled(archive, site, url)
    assert site.file_requests() == [third, file_target("zenodo", dataset, 3)]
    [result] = results(archive)[-1]
    assert [file["status"] for file in result["manifest"]] == [
        "exists", "exists", "success", "success"
    ]  # fmt: skip
    assert result["status"] == "success"
    assert {path: data for (*_, path), data in held(archive).items()} == dict(FILES)
    assert not list((archive / "fileset" / "raw").iterdir())
    warcio_check(archive)


@pytest.mark.forms(count=1)
@pytest.mark.parametrize("seed", range(3))
def test_kills_at_any_moment_leave_what_an_undisturbed_run_leaves(tmp_path, seed, site):
    archive, chance = tmp_path / "archive", random.Random(seed)
    urls = [
        site.play("zenodo", played(*FILES, number=1)),
        site.play("archiveorg", played(*FILES, number=2)),
        site.play("figshare", played(FILES[0], number=3)),
    ]
    listed = requests_file(tmp_path, *urls)
    for _ in range(3):
        with FilesetCrawl(archive, "-a", f"input={listed}", **site.settings) as going:
            site.pause_after(chance.randrange(2, 14))
            going.sets_when_it_ends(site.paused)
            assert site.paused.wait(LIMIT)
            going.kill()
            site.resume()
    crawled(archive, site, listed)
    site.forget()
    last = crawl(archive, "-a", f"input={listed}", **site.settings)
    assert (last.code, site.targets()) == (0, [])
    assert {one["status"] for one in results(archive)[-1]} <= {
        "success-existing", "success", "success-file"
    }  # fmt: skip
    assert {(fileset, path): data for (fileset, _, path), data in held(archive).items()} == {
        **{("fileset:zenodo:zenodo.org:1", path): data for path, data in FILES},
        **{("fileset:archiveorg:archive.org:played-2", path): data for path, data in FILES},
        ("fileset:figshare:figshare.com:3", "f0.txt"): FILES[0][1],
    }
    assert not list((archive / "fileset" / "raw").iterdir())
    assert not [path for path in archive.rglob("*") if path.name.startswith((".part-", ".draft-"))]
    warcio_check(archive)


def test_what_a_killed_worker_did_not_tell_is_told_by_who_waited_for_it(site, archive):
    url = site.play("figshare", played(FILES[0]))
    target, first = urlsplit(url).path, list[Run]()
    page = site.routes[target]

    def asked(_: Seen) -> Reply:
        """The second worker's page comes when the first has stored it all and is gone."""
        if site.targets().count(target) == 1:
            first.append(crawl(archive, "-a", f"url={url}", **site.settings))
            with closing(sqlite3.connect(archive / "fileset" / "index.sqlite")) as index, index:
                index.execute("UPDATE hits SET told = 0")  # it never said so
        assert isinstance(page, Reply)
        return page

    site.routes[target] = asked
    run = crawl(archive, "-a", f"url={url}", **site.settings)
    assert (run.code, [one.code for one in first]) == (0, [0]), run.log
    assert len(site.file_requests()) == 1
    crawled(archive, site, url)
    assert [[one["status"] for one in feed] for feed in results(archive)] == [
        ["success-file", "success"], ["success-file", "success"], ["success-existing"]
    ]  # fmt: skip


def test_versions_that_change_are_told_and_never_written_over(site, archive):
    first = played(("a.txt", b"first\n"), ("b.txt", b"same\n"))
    other = played(("a.txt", b"other\n"), ("b.txt", b"same\n"))
    key = "fileset:zenodo:zenodo.org:4711"
    url = site.play("zenodo", first)
    crawled(archive, site, url)
    site.play("zenodo", other)
    site.forget()
    crawled(archive, site, url, "-a", "refresh=all")
    assert site.file_requests() == []
    crawled(archive, site, url, "-a", "force=1")
    assert [feed[0]["status"] for feed in results(archive)] == [
        "success", "mismatch-existing", "success"
    ]  # fmt: skip
    versions = Filesets(archive).summary(key).versions
    assert [name.partition("@")[0] for name in versions] == ["4711", "4711"]
    found = held(archive)
    assert sorted(data for (*_, path), data in found.items() if path == "a.txt") == [
        b"first\n", b"other\n"
    ]  # fmt: skip
    places = [version.files["b.txt"].s for version in versions.values()]
    assert places[0] == places[1]  # what did not change is a revisit
    warc = next((archive / "fileset" / "warc").rglob("*.warc")).read_bytes()
    assert warc.count(b"WARC-Type: revisit") == 1
    warcio_check(archive)


def test_a_summary_is_made_again_from_its_warc_alone(tmp_path, site, archive):
    zenodo = site.play("zenodo", played(*FILES))
    listed = requests_file(tmp_path, zenodo, site.play("archiveorg", played(*FILES, number=9)))
    crawled(archive, site, listed)
    summaries = sorted((archive / "fileset" / "suwaf").rglob("*.json"))
    before = [summary.read_bytes() for summary in summaries]
    for summary in summaries:
        summary.unlink()
    (archive / "fileset" / "index.sqlite").unlink()
    rebuilt = crawl(archive, verb="rebuild")
    assert (rebuilt.code, "2 summaries made" in rebuilt.log) == (0, True), rebuilt.log
    assert [summary.read_bytes() for summary in summaries] == before
    site.forget()
    again = crawl(archive, "-a", f"input={listed}", **site.settings)
    assert (again.code, site.file_requests()) == (0, []), again.log
    assert {one["status"] for one in results(archive)[-1]} == {"success-existing"}


def test_verify_tells_each_kind_of_damage(tmp_path, site, archive):
    url = site.play("zenodo", played(*FILES))
    item = site.play("archiveorg", played(*FILES, number=9))
    listed = requests_file(tmp_path, url, item)
    crawled(archive, site, listed)
    assert codes(archive) == []
    folder = archive / "items" / "played-9" / "files"
    (folder / "f0.txt").write_bytes(b"other")
    (folder / "f1.txt").unlink()
    (folder / ".part-x").write_bytes(b"")
    key = "fileset:zenodo:zenodo.org:4711"
    filesets = Filesets(archive)
    entry = filesets.file(key, "f2.txt").entry
    warc = filesets.warc_path(filesets.pid(key))
    data = bytearray(warc.read_bytes())
    assert entry.s is not None
    data[entry.s] ^= 1
    warc.write_bytes(data)
    assert codes(archive) == [
        "bad-block", "fileset-digest", "fileset-digest", "item-missing", "item-part"
    ]  # fmt: skip
    with warc.open("ab") as file:
        file.write(b"WARC/1.1\r\nWARC-Type: metadata\r\n")
    assert "fileset-tail" in codes(archive)
    warc.write_bytes(bytes(data)[:-20])
    assert "fileset-short" in codes(archive)
    summary = filesets.summary_path(filesets.pid(key))
    summary.write_bytes(b"{}")
    assert "bad-summary" in codes(archive)
    summary.unlink()
    assert "no-summary" in codes(archive)


def codes(archive: Path) -> list[str]:
    done = crawl(archive, verb="verify")
    found = sorted(json.loads(line)["code"] for line in done.out.splitlines())
    assert done.code == bool([code for code in found if code != "item-part"]), done.log
    return found


def test_a_signal_stops_in_time_and_the_same_command_goes_on(tmp_path, site, archive):
    small, big = played(*FILES, number=1), played(*FILES, number=2)
    urls = [site.play("zenodo", small), site.play("archiveorg", big)]
    held_up = [file_target("zenodo", small, 2), file_target("archiveorg", big, 1)]
    answers = [site.routes[target] for target in held_up]
    for target in held_up:
        site.routes[target] = reply(b"half", "", 'ETag: "v1"', length=800, then="hold")
    listed = requests_file(tmp_path, *urls)
    given = {**site.settings, "LAFKA_SHUTDOWN_TIMEOUT": 12}
    with FilesetCrawl(archive, "-a", f"input={listed}", **given) as going:
        site.wait_until_asked(*held_up)
        going.interrupt()
        stopped = going.ended()
    assert stopped.code == 3, stopped.log
    assert stopped.troubles() == [], stopped.log
    assert results(archive)[0] == []
    for target, answer in zip(held_up, answers, strict=True):
        site.routes[target] = answer
    crawled(archive, site, listed)
    assert [one["status"] for one in results(archive)[1]] == ["success", "success"]
    assert len(held(archive)) == 2 * len(FILES)
    assert not list((archive / "fileset" / "raw").iterdir())


def test_a_damaged_fileset_is_told_and_the_others_go_on(tmp_path, site, archive):
    first = site.play("zenodo", played(*FILES, number=1))
    crawled(archive, site, first)
    [warc] = (archive / "fileset" / "warc").rglob("*.warc")
    whole = warc.read_bytes()
    warc.write_bytes(whole[:-100])
    listed = requests_file(tmp_path, {"base_url": first, "force_recrawl": True},
                           site.play("zenodo", played(*FILES, number=2)))  # fmt: skip
    crawled(archive, site, listed)
    assert {one["status"] for one in results(archive)[1]} == {"damaged", "success"}
    assert warc.read_bytes() == whole[:-100]


@pytest.mark.forms(count=1)
@pytest.mark.parametrize("platform", ["archiveorg", "zenodo"])
def test_a_disk_that_refuses_stops_the_crawl_and_the_same_command_goes_on(platform, site, archive):
    big = bytes(range(1, 251)) * 12_000
    dataset = played(("a.txt", b"small\n"), ("big.bin", big))
    url = site.play(platform, dataset)
    limit = "ulimit -f 1500"  # kilobytes of a file
    run = crawl(archive, "-a", f"url={url}", limit=limit, **site.settings)
    assert run.code == 1, run.log
    assert "A limit of this machine stopped the crawl: " in run.log
    assert "Traceback" not in run.log
    assert results(archive) == [[]]
    site.forget()
    crawled(archive, site, url)
    target = file_target(platform, dataset, 1)
    asked = [seen.headers.get("Range", "") for seen in site.seen if seen.target == target]
    assert len(asked) == 1
    assert asked[0].startswith("bytes=") == (platform == "archiveorg")
    assert results(archive)[1][0]["status"] == "success"
    assert {path: data for (*_, path), data in held(archive).items()}["big.bin"] == big
    assert not list((archive / "fileset" / "raw").iterdir())


@pytest.mark.long("the short suite has a full disk under a crawl of papers")
@pytest.mark.skipif(not can_mount(), reason="no file system can be mounted here")
def test_a_full_disk_is_told_in_a_sentence(tmp_path, site):
    disk = tmp_path / "disk"
    disk.mkdir()
    files = (("a.csv", b"a,b\n" * 3000), ("b.csv", b"1,2\n"))
    urls = [site.play(platform, played(*files, number=number)) for number in range(1, 5)
            for platform in ("zenodo", "archiveorg")]  # fmt: skip
    asked = requests_file(tmp_path, *urls)
    crawling = command(disk / "a", "-a", f"input={asked}", LAFKA_FILESET_KEEP_FREE=0,
                       **site.settings)  # fmt: skip
    subprocess.run(
        ["unshare", "-m", "bash", "-c", SCRIPT, "bash", disk, *crawling],
        cwd=ROOT, env={"SIZE": "128k", "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}, timeout=LIMIT,
        check=True, capture_output=True,
    )  # fmt: skip
    full, room = ((tmp_path / f"disk.{when}.log").read_text() for when in ("full", "room"))
    assert full.count("The disk stopped the crawl: ") == 1
    assert "Traceback" not in full
    assert (tmp_path / "disk.full.code").read_text() == "1\n"
    assert (tmp_path / "disk.room.code").read_text() == "0\n", room
    assert {one["status"] for one in results(tmp_path / "disk.kept" / "a")[-1]} <= {
        "success", "success-existing"
    }  # fmt: skip
