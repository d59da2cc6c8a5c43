"""Lists, arguments, settings and archives, good and bad."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.crawls.running import Crawl, Run, check, crawl, files, outcomes
from tests.sites.papers import MAIN, SmallSite, as_pdf, meta, page, pdf
from tests.sites.server import reply
from tests.waiting import LIMIT


@pytest.fixture(scope="module")
def site() -> Iterator[SmallSite]:
    with SmallSite((MAIN,), 4) as site:
        yield site


def assert_refused(run: Run, *words: str) -> None:
    """One sentence on standard error, exit code 2."""
    assert run.code == 2, run.log
    *before, sentence = run.log.splitlines()
    assert sentence.startswith("scrapy crawl: ")
    for word in words:
        assert word in sentence
    assert not [line for line in before if "ERROR" in line or "Traceback" in line]
    assert run.out == ""


@pytest.mark.forms(count=2)
@pytest.mark.parametrize("name", ["list.csv", "list.jsonl", "list.tsv.gz", "-"])
def test_a_list_of_any_format(site: SmallSite, tmp_path: Path, name: str) -> None:
    rows = [(p.pid, p.url) for p in site.papers]
    text = {
        "list.csv": "pid,futli\r\n" + "".join(f'{p},"{u}"\r\n' for p, u in rows),
        "list.jsonl": "".join(json.dumps({"pid": p, "futli": u}) + "\n" for p, u in rows),
    }.get(name, "# a list\n\n" + site.list())
    path = tmp_path / name
    if name != "-":
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    run = crawl(tmp_path / "a", name if name == "-" else path, stdin=text if name == "-" else "")
    assert run.code == 0
    assert not run.troubles()
    got = {line["pid"]: line["outcome"] for line in outcomes(tmp_path / "a")[0]}
    assert got == {p.pid: p.outcome for p in site.papers}


def test_what_is_assumed_of_a_list_is_said_once(site: SmallSite, tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text(site.list().replace("\t", "  "))
    run = crawl(tmp_path / "a", tmp_path / "list.txt")
    assert run.code == 0
    (told,) = [line for line in run.log.splitlines() if "read as it seems to be" in line]
    assert "WARNING" in told
    assert told.endswith("list.txt: read as it seems to be: blanks part its columns")
    assert len(outcomes(tmp_path / "a")[0]) == len(site.papers)


def test_a_bad_line_ends_in_its_outcome_and_the_rest_goes_on(
    site: SmallSite, tmp_path: Path
) -> None:
    good = site.papers[0]
    excluded, restricted = "RePEc:tst:left:1", "RePEc:tst:papers:r"
    lines = [
        ("pid", "url", "restriction"),
        ("RePEc:tst", good.url, ""),
        ("RePEc:tst:papers:x", "www.example.org/no-scheme", ""),
        ("RePEc:tst:papers:y", "ftp://127.0.0.1/x.pdf", ""),
        ("RePEc:tst:papers:z", "", ""),
        (excluded, good.url, ""),
        (restricted, good.url, "members only"),
        (good.pid, good.url, ""),
        (good.pid, good.url, ""),
        (good.pid, good.url + "#again", ""),
    ]
    list_ = tmp_path / "list.tsv"
    text = "".join("\t".join(line) + "\n" for line in lines)
    list_.write_bytes(text.encode() + b"not\xff\xfeutf8\n")
    exclude = tmp_path / "exclude.txt"
    exclude.write_text("RePEc:tst:left:*\n")
    run = crawl(tmp_path / "a", list_, "-a", f"exclude={exclude}")
    assert run.code == 0
    assert not run.troubles()
    got = sorted((line["pid"], line["outcome"]) for line in outcomes(tmp_path / "a")[0])
    assert got == sorted([
        ("RePEc:tst", "bad-pid"), ("RePEc:tst:papers:x", "bad-url"),
        ("RePEc:tst:papers:y", "bad-url"), ("RePEc:tst:papers:z", "bad-url"),
        (excluded, "excluded"), (restricted, "restricted"), (good.pid, "fut"), (good.pid, "fut"),
        (good.pid, "fut"), ("not\\xff\\xfeutf8", "bad-pid"),
    ])  # fmt: skip
    errors = {line["pid"]: line["error"] for line in outcomes(tmp_path / "a")[0]}
    assert "RePEc:tst:left:*" in errors[excluded]
    check(tmp_path / "a")


def test_a_list_that_is_cut_gives_what_it_holds(site: SmallSite, tmp_path: Path) -> None:
    whole = gzip.compress(site.list().encode() * 50)
    (tmp_path / "list.tsv.gz").write_bytes(whole[: len(whole) - 12])
    run = crawl(tmp_path / "a", tmp_path / "list.tsv.gz")
    (trouble,) = run.troubles()
    assert "The list ends early" in trouble
    assert "list.tsv.gz" in trouble
    assert {line["outcome"] for line in outcomes(tmp_path / "a")[0]} == {"fut", "splap-only"}


@pytest.mark.parametrize(
    ("list_", "arguments", "word"),
    [("list.tsv", ["-a", "inptu=x"], "inptu"), ("missing.tsv", [], "missing.tsv")],
)
def test_what_cannot_be_is_refused_before_anything_is_written(
    site: SmallSite, tmp_path: Path, list_: str, arguments: list[str], word: str
) -> None:
    (tmp_path / "list.tsv").write_text(site.list())
    assert_refused(crawl(tmp_path / "a", tmp_path / list_, *arguments), word)
    assert not (tmp_path / "a").exists()


def test_a_damaged_paper_stops_its_own_line_only(site: SmallSite, tmp_path: Path) -> None:
    archive, list_ = tmp_path / "a", tmp_path / "list.tsv"
    list_.write_text(site.list())
    crawl(archive, list_)
    no_json, short, splap = site.papers[0], site.papers[1], site.papers[3]

    def path(kind: str, pid: str, ending: str) -> Path:
        return archive / kind / (pid.replace(":", "/") + ending)

    path("suwaf", no_json.pid, ".json").write_bytes(b"{not JSON")
    for pid in (short.pid, splap.pid):
        warc = path("warc", pid, ".warc")
        warc.write_bytes(warc.read_bytes()[:-100])
    before = files(archive)
    run = crawl(archive, list_)
    assert run.code == 0
    got = {line["pid"]: line for line in outcomes(archive)[-1]}
    assert {pid for pid, line in got.items() if line["outcome"] == "damaged"} == {
        no_json.pid, short.pid, splap.pid
    }  # fmt: skip
    assert got[site.papers[2].pid]["outcome"] == "fut"
    for paper, name in ((no_json, ".json"), (short, ".warc"), (splap, ".warc")):
        assert name in got[paper.pid]["error"]
    assert {n: d for n, d in files(archive).items() if not n.startswith("raw/")} == before
    troubles = run.troubles()
    assert len(troubles) == 3
    assert not [line for line in troubles if "Traceback" in line]


def test_what_a_damaged_paper_cannot_take_waits_in_the_raw_warc(tmp_path: Path) -> None:
    with SmallSite((MAIN,), 1) as site:
        archive, list_ = tmp_path / "a", tmp_path / "list.tsv"
        paper = site.papers[0]
        list_.write_text(site.list())
        site.pause_after(1)  # robots.txt: nothing is known to be wrong when the line is begun
        with Crawl(archive, "-a", f"input={list_}") as going:
            assert site.paused.wait(LIMIT)
            suwaf = archive / "suwaf" / (paper.pid.replace(":", "/") + ".json")
            suwaf.parent.mkdir(parents=True)
            suwaf.write_bytes(b"{not JSON")
            site.resume()
            run = going.ended()
        assert run.code == 0
        (line,) = outcomes(archive)[0]
        assert line["outcome"] == "damaged"
        assert len(list((archive / "raw").iterdir())) == 1
        suwaf.unlink()  # the keeper has looked
        site.forget()
        crawl(archive, list_)
        assert site.targets() == []
        assert outcomes(archive)[-1][0]["outcome"] == "fut"
        check(archive)


@pytest.mark.forms(count=1)
@pytest.mark.parametrize("uri", ["-o", "FEEDS"])
def test_a_feed_of_the_users_own_has_the_same_lines(
    site: SmallSite, tmp_path: Path, uri: str
) -> None:
    list_, own = tmp_path / "list.tsv", tmp_path / "own.jsonl"
    list_.write_text(site.list())
    feeds = json.dumps({str(own): {"format": "jsonlines"}})
    as_scrapyd_does = ["-a", "_job=1", "--set", f"FEEDS={feeds}"]
    arguments = ["-o", str(own)] if uri == "-o" else as_scrapyd_does
    settings: dict[str, Any] = {"FEED_EXPORT_INDENT": 4, "FEED_EXPORT_FIELDS": "pid,outcome"}
    if uri == "-o":
        settings = {}
    run = crawl(tmp_path / "a", list_, *arguments, **settings)
    assert run.code == 0
    assert not run.troubles()
    ours = outcomes(tmp_path / "a")[0]
    assert len(ours) == len(site.papers)
    if uri == "-o":
        theirs = [json.loads(line) for line in own.read_text().splitlines()]
        bare = [{key: line[key] for key in line if key != "chain"} for line in ours]
        assert theirs == bare
        assert [list(line) for line in theirs] == [list(line) for line in bare]
    assert list(ours[0])[-2:] == ["as_written", "chain"]


def test_a_url_with_a_password_is_not_asked_for(tmp_path: Path) -> None:
    with SmallSite((MAIN,), 0) as site:
        site.routes["/secret.pdf"] = as_pdf(pdf("secret"))
        secret = site.at(MAIN).replace("http://", "http://someone:s3cr3t@") + "/secret.pdf"
        site.routes["/splap"] = reply(page("", meta(secret)))
        (tmp_path / "list.tsv").write_text(
            f"RePEc:tst:papers:s\t{secret}\nRePEc:tst:papers:t\t{site.at(MAIN)}/splap\n"
        )
        run = crawl(tmp_path / "a", tmp_path / "list.tsv")
        assert site.targets() == ["/splap"]
    assert not run.troubles()
    got = {line["pid"]: line for line in outcomes(tmp_path / "a")[0]}
    assert got["RePEc:tst:papers:s"]["outcome"] == "bad-url"
    assert "s3cr3t" not in got["RePEc:tst:papers:s"]["error"]
    assert [c["outcome"] for c in got["RePEc:tst:papers:t"]["candidates"]] == ["bad-url"]
    warc = (tmp_path / "a/warc/RePEc/tst/papers/t.warc").read_bytes()
    assert warc.count(b"s3cr3t") == 1  # the page itself, as it was sent


def test_a_page_that_the_finders_stumble_over_is_a_splap(tmp_path: Path) -> None:
    with SmallSite((MAIN,), 3) as site:
        (tmp_path / "list.tsv").write_text(site.list())
        run = crawl(tmp_path / "a", tmp_path / "list.tsv",
                    SPIDER_MODULES="tests.crawls.stumbling")  # fmt: skip
    assert len([t for t in run.troubles() if "could not be read" in t]) == 1
    got = {line["pid"]: line for line in outcomes(tmp_path / "a")[0]}
    assert [got[p.pid]["outcome"] for p in site.papers] == ["fut", "splap-only", "fut"]
    assert "stumbled" in got[site.papers[1].pid]["error"]
    check(tmp_path / "a")


def test_a_list_that_is_cut_is_crawled_as_far_as_it_goes_and_told(tmp_path: Path) -> None:
    with SmallSite((MAIN,), 40) as site:
        whole = gzip.compress(site.list().encode())
        (tmp_path / "list.tsv.gz").write_bytes(whole[:-12])
        run = crawl(tmp_path / "a", tmp_path / "list.tsv.gz")
    assert run.code == 1
    assert "list.tsv.gz" in " ".join(run.troubles())
