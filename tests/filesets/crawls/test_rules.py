"""What holds of every crawl of filesets: limits first, tokens nowhere, robots, blocked, retries."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from tests.filesets.crawls.running import crawl, crawled, held, requests_file, results
from tests.sites.platforms import HOSTS, file_target, played
from tests.sites.server import Reply, Seen, chunked, in_turn, redirect, reply

FILES = (("a.csv", b"a,b\n"), ("b.csv", b"1,2\n" * 20))
SECRET = "s3cr3t-t0k3n-of-the-operator"


def statuses(archive: Path) -> dict[str, str]:
    """The status of each request of the last run, by the end of its URL."""
    return {one["request"]["base_url"].rpartition("/")[2]: one["status"]
            for one in results(archive)[-1]}  # fmt: skip


def test_limits_hold_before_the_first_file_is_asked_for(tmp_path, site, archive):
    large = site.play("zenodo", played(("a", b"x" * 5000), ("b", b"y"), number=1))
    total = site.play("zenodo", played(("a", b"x" * 900), ("b", b"y" * 900), number=2))
    many = site.play("zenodo", played(*((f"{n}", b"1") for n in range(4)), number=3))
    unsafe = site.play("zenodo", played(("../up", b"1"), ("b", b"2"), number=4))
    closed = played(*FILES, number=5)
    object.__setattr__(closed.files[0], "restricted", True)
    restricted = site.play("zenodo", closed)
    blocked = tmp_path / "blocked.txt"
    blocked.write_text("records/66$\n")
    listed = requests_file(
        tmp_path, large, total, many, unsafe, restricted, "https://zenodo.org/records/66",
        "https://zenodo.org/records/77",
    )  # fmt: skip
    crawled(
        archive,
        site,
        listed,
        LAFKA_FILESET_MAX_FILE="4K",
        LAFKA_FILESET_MAX_TOTAL="1500",
        LAFKA_FILESET_MAX_FILES=3,
        LAFKA_FILESET_BLOCKLIST=blocked,
    )
    assert site.file_requests() == []
    assert not [target for target in site.targets() if "66" in target]
    assert statuses(archive) == {
        "1": "too-large-file", "2": "too-large-size", "3": "too-many-files", "4": "unsafe-path",
        "5": "platform-restricted", "66": "skip-url-blocklist", "77": "terminal-bad-status",
    }  # fmt: skip
    kept = b"".join(p.read_bytes() for p in (archive / "fileset" / "warc").rglob("*.warc"))
    assert kept.count(b"<title>404</title>") == 1  # the landing page is kept whatever comes of it
    assert kept.count(b"WARC-Type: response") == 2 * 5 + 1


def test_a_token_is_sent_to_its_host_and_stands_nowhere(tmp_path, site, archive):
    tokens = tmp_path / "tokens.json"
    tokens.write_text(
        json.dumps({"dataverse.example": {"header": "X-Dataverse-key", "value": SECRET}})
    )
    tokens.chmod(0o600)
    dataset = played(*FILES)
    object.__setattr__(dataset.files[0], "restricted", True)
    url = site.play("dataverse", dataset)
    target = file_target("dataverse", dataset, 0)
    site.routes["/elsewhere"] = reply(FILES[0][1], "text/csv")
    elsewhere = redirect(f"{site.at(HOSTS['zenodo.org'])}/elsewhere")
    site.routes[target] = elsewhere
    site.routes[target.partition("?")[0]] = elsewhere
    run = crawled(
        archive, site, url, LAFKA_TOKENS=tokens, LAFKA_FILESET_RESTRICTED=1, LOG_LEVEL="DEBUG"
    )
    sent = {seen.host for seen in site.seen if SECRET in seen.headers.values()}
    assert sent == {HOSTS["dataverse.example"]}
    assert [s for s in site.seen if s.target == "/elsewhere"]
    assert results(archive)[0][0]["status"] == "success", results(archive)
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*")
                       if path.is_file() and path != tokens)  # fmt: skip
    assert b"X-Dataverse-key: [removed]" in written or b"X-Dataverse-Key: [removed]" in written
    assert SECRET.encode() not in written
    assert SECRET not in run.log + run.out
    tokens.chmod(0o644)
    refused = crawl(archive, "-a", f"url={url}", LAFKA_TOKENS=tokens)
    assert refused.code == 2
    assert "others may read it; chmod 600 it" in refused.log


def test_robots_binds_pages_and_not_the_api_of_a_known_platform(tmp_path, site):
    url = site.play("dataverse", played(*FILES))
    closed = reply(b"User-agent: *\nDisallow: /api/\n", "text/plain")
    site.robots[HOSTS["dataverse.example"]] = closed
    run = crawl(tmp_path / "a", "-a", f"url={url}", **site.settings)
    bound = crawl(tmp_path / "b", "-a", f"url={url}", LAFKA_FILESET_ROBOTS="all",
                  **site.settings)  # fmt: skip
    page = reply(b"User-agent: *\nDisallow: /\n", "text/plain")
    site.robots[HOSTS["dataverse.example"]] = page
    site.forget()
    never = crawl(tmp_path / "c", "-a", f"url={url}", **site.settings)
    assert site.targets() == []
    assert (run.code, bound.code, never.code) == (0, 0, 0), run.log
    assert [results(tmp_path / name)[0][0]["status"] for name in "abc"] == [
        "success", "platform-error", "no-capture"
    ]  # fmt: skip
    assert results(tmp_path / "c")[0][0]["lafka"]["outcome"] == "robots"


def test_what_came_otherwise_than_told_is_never_committed(site, archive):
    body = b"the true bytes\n" * 400
    other = b"other bytes now\n" * 375
    replies: dict[str, Reply | object] = {
        "1": reply(other[: len(body)], "text/plain"),
        "2": reply(body[:-1], "text/plain"),
        "3": reply(b"", "text/plain"),
        "4": reply(b"<html>Log in</html>", "text/html", status="403 Forbidden"),
        "5": chunked(body[:1000], body[1000:]),
        "6": in_turn(reply(other[: len(body)]), reply(body)),
        "7": chunked(body[:1000], end=b"zzz\r\n\r\n"),
        "8": reply(b"<html>Log in</html>" * 1000, "text/html", status="403 Forbidden"),
    }
    urls = []
    for number, answer in replies.items():
        dataset = played(("f.txt", body), ("g.txt", b"good"), number=int(number))
        urls.append(site.play("zenodo", dataset))
        site.routes[file_target("zenodo", dataset, 0)] = answer  # type: ignore[assignment]
    crawled(archive, site, urls, LAFKA_FILESET_TRIES=2, LAFKA_FILESET_MAX_FILE="8K")
    assert statuses(archive) == {
        "1": "mismatch-md5", "2": "mismatch-size", "3": "empty-blob",
        "4": "error-platform-download", "5": "success", "6": "success",
        "7": "transfer-encoding-error", "8": "error-platform-download",
    }  # fmt: skip
    files = held(archive)
    assert {data for (_, _, path), data in files.items() if path == "f.txt"} == {body}
    assert len([path for *_, path in files if path == "g.txt"]) == 8
    assert len([path for *_, path in files if path == "f.txt"]) == 2


def test_bytes_that_have_another_digest_than_their_platform_says(tmp_path, site, archive):
    lengths = {"SHA-1": 40, "SHA-256": 64, "SHA-512": 128}
    urls = []
    for number, (kind, digits) in enumerate(lengths.items(), 1):
        dataset = played(*FILES, number=number)
        wrong = replace(dataset.files[0], kind=kind, md5="0" * digits)
        urls.append(site.play("dataverse", replace(dataset, files=(wrong, dataset.files[1]))))
    run = crawl(archive, "-a", f"input={requests_file(tmp_path, *urls)}", **site.settings)
    assert run.code == 0, run.log
    assert statuses(archive) == {"1": "mismatch-sha1", "2": "mismatch-sha256", "3": "mismatch"}
    assert {path for *_, path in held(archive)} == {"b.csv"}


def test_a_host_that_asks_to_wait_is_waited_for(site, archive):
    dataset = played(*FILES)
    url = site.play("zenodo", dataset)
    times: list[float] = []
    first = site.routes["/api/records/4711"]
    assert isinstance(first, Reply)

    def handle(seen: Seen) -> Reply:
        times.append(seen.time)
        busy = reply(b"{}", "application/json", "Retry-After: 1", status="429 Too Many Requests")
        return busy if len(times) == 1 else first

    site.routes["/api/records/4711"] = handle
    crawled(archive, site, url)
    assert statuses(archive) == {"4711": "success"}
    assert times[1] - times[0] >= 1
