"""Each status that a crawl can tell of a landing page or a platform is brought about once."""

from __future__ import annotations

import json
import socket
from dataclasses import replace
from typing import Any

from tests.filesets.crawls.running import crawl, crawled, requests_file, results
from tests.sites.platforms import played
from tests.sites.server import Handler, Reply, Seen, redirect, reply

FILES = (("a.csv", b"a,b\n"), ("b.csv", b"1,2\n"))


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def zenodo_of_today(record: dict[str, Any], rows: list[dict[str, Any]], count: int) -> Handler:
    """The record in the shape that is asked for: by default *rows* alone, else with a *count*."""

    def handle(seen: Seen) -> Reply:
        native = seen.headers["Accept"].startswith("application/vnd.inveniordm.v1+json")
        files = {"count": count, "entries": rows} if native else rows
        return reply(json.dumps({**record, "files": files}).encode(), "application/json")

    return handle


def test_each_status_of_landing_pages_and_platforms(tmp_path, site, archive):
    lab = "https://lab.example"
    expected: dict[str, str] = {}

    def add(status: str, path: str, host: str = lab) -> None:
        expected[f"{host}{path}"] = status

    def zenodo(number: int, told: str, **answer: object) -> None:
        url = site.play("zenodo", played(*FILES, number=number))
        body = answer.get("body", b"{}")
        assert isinstance(body, bytes)
        site.routes[f"/api/records/{number}"] = reply(
            body, "application/json", status=str(answer.get("status", "200 OK"))
        )
        expected[url] = told

    expected[f"http://127.0.0.1:{closed_port()}/"] = "no-capture"
    site.routes["/loop"] = redirect("/loop")
    add("redirect-loop", "/loop")
    site.routes["/large"] = reply(b"<html>" + b"x" * 20_000)
    add("body-too-large", "/large")
    site.routes["/coded"] = reply(b"\x1f\x8bno gzip", "text/html", "Content-Encoding: gzip")
    add("bad-gzip-encoding", "/coded")
    site.routes["/empty"] = reply(b"")
    add("empty-blob", "/empty")
    site.routes["/plain"] = reply(b"<html><a href='x.zip'>data</a></html>")
    add("no-platform-match", "/plain")
    for name, status in (
        ("/cookieAbsent", "blocked-cookie"), ("/captcha?x", "blocked-captcha"),
        ("/sso/login.php", "blocked-wall"),
    ):  # fmt: skip
        site.routes[f"/to{status}"] = redirect(name)
        site.routes[name] = reply(b"<html>guard</html>")
        add(status, f"/to{status}")
    zenodo(1, "platform-404", status="404 Not Found")
    zenodo(2, "platform-http-error", status="418 Teapot")
    zenodo(3, "platform-error", body=b"<html>no JSON</html>")
    record = {"id": 4, "conceptrecid": "3", "metadata": {"access_right": "open"}}
    zenodo(4, "empty-manifest", body=json.dumps({**record, "files": []}).encode())
    zenodo(8, "incomplete-manifest")
    site.routes["/api/records/8"] = zenodo_of_today(
        {**record, "id": 8}, [{"key": "a", "size": 1}], count=2
    )
    zenodo(5, "platform-scope", body=json.dumps({**record, "id": 5, "conceptrecid": "5",
                                                 "files": []}).encode())  # fmt: skip
    nothing = site.play("zenodo", played(*FILES, number=6))
    open_and_closed = played(*FILES, number=7)
    closed = (replace(open_and_closed.files[0], restricted=True), open_and_closed.files[1])
    partial = site.play("dataverse", replace(open_and_closed, files=closed))
    expected[partial] = "partial"
    listed = requests_file(
        tmp_path, *expected, {"base_url": nothing, "ingest_strategy": "web-file"}
    )
    run = crawled(
        archive, site, listed, LAFKA_LANDING_MAX="10K", LAFKA_FILESET_PARTIAL=1, RETRY_TIMES=0
    )
    assert run.troubles() == [], run.log
    assert len(site.file_requests()) == 1
    [found] = results(archive)
    told = {one["request"]["base_url"]: one["status"] for one in found}
    assert told == expected | {nothing: "no-strategy-helper"}
    assert not any(one["hit"] for one in found)
    assert all("error_message" in one for one in found)
    full = crawl(tmp_path / "b", "-a", f"url={nothing}", LAFKA_FILESET_KEEP_FREE="900T",
                 **site.settings)  # fmt: skip
    assert full.code == 0
    assert results(tmp_path / "b")[0][0]["status"] == "no-space"


def test_no_result_names_this_machines_folders_or_mirrors(tmp_path, site, archive):
    foreign = archive / "items" / "played-3" / "mine.txt"
    foreign.parent.mkdir(parents=True)
    foreign.write_bytes(b"mine")
    (archive / "warc").mkdir()
    urls = [
        site.play("zenodo", played(FILES[0], number=1)),  # a fileset_file with its cdx
        site.play("zenodo", played(*FILES, number=2)),
        site.play("archiveorg", played(*FILES, number=3)),
        site.play("zenodo", played(*FILES, number=4)),
    ]
    asked = requests_file(tmp_path, *urls)
    settings = {**site.settings, "LAFKA_FILESET_TRIES": 1}
    damaged = crawl(archive, "-a", f"url={urls[3]}", **settings)
    assert damaged.code == 0, damaged.log
    [warc] = (archive / "fileset" / "warc").rglob("*.warc")
    warc.write_bytes(warc.read_bytes()[:-200])
    (archive / "fileset" / "index.sqlite").unlink()
    bases = json.loads(settings["LAFKA_PLATFORM_BASES"])
    settings["LAFKA_PLATFORM_BASES"] = json.dumps(
        bases | {"gone.example": f"http://127.0.0.40:{closed_port()}"}
    )
    asked = requests_file(tmp_path, *urls, "https://gone.example/record/1")
    run = crawl(archive, "-a", f"input={asked}", **settings)
    assert run.code == 0, run.log
    found = results(archive)[1]
    assert {one["status"] for one in found} == {
        "success-file", "success", "error-archiveorg-upload", "damaged", "no-capture"
    }  # fmt: skip
    for one in found:
        assert "127.0.0." not in json.dumps(one), one
        assert str(tmp_path) not in json.dumps(one), one
    [file] = (one["fileset_file"] for one in found if "fileset_file" in one)
    assert file["cdx"]["url"] == file["terminal"]["terminal_url"]
    assert file["cdx"]["surt"].startswith("org,zenodo)/")
