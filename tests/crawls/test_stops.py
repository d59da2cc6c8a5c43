"""Crawls that are killed, stopped, or not alone: the same command again completes them."""

from __future__ import annotations

import gzip
import os
import threading
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from lafka.runs.exits import STOPPED
from tests.crawls.running import Crawl, check, crawl, futs, outcomes
from tests.crawls.standstill import BEGUN
from tests.sites.papers import MAIN, OTHER, SmallSite, page
from tests.sites.server import Reply, reply
from tests.stores import FUTLI, PID, Store, pdf
from tests.waiting import LIMIT


@pytest.fixture
def site() -> Iterator[SmallSite]:
    with SmallSite((MAIN, OTHER)) as site:
        yield site


@pytest.fixture
def list_(site: SmallSite, tmp_path: Path) -> Path:
    path = tmp_path / "list.tsv"
    path.write_text(site.list())
    return path


def assert_complete(archive: Path, site: SmallSite) -> None:
    """All futs are there, each once; the last run has told every line's outcome."""
    check(archive)
    cut: dict[str, list[bytes]] = defaultdict(list)
    for pid, _, data in futs(archive):
        cut[pid].append(data)
    assert {pid: set(found) for pid, found in cut.items()} == {
        p.pid: set(p.futs) for p in site.papers if p.futs
    }
    for paper in site.papers:
        warc = archive / "warc" / (paper.pid.replace(":", "/") + ".warc")
        for data in paper.futs:
            assert warc.read_bytes().count(data) == 1, paper.name
    last = outcomes(archive)[-1]
    assert Counter((line["pid"], line["outcome"]) for line in last) == Counter(
        (p.pid, p.outcome) for p in site.papers
    )


def assert_kept(archive: Path) -> None:
    """Whatever any run has acknowledged as a fut was not asked for again by a later one."""
    acknowledged: set[str] = set()
    for run in outcomes(archive):
        for line in run:
            if line["pid"] in acknowledged:
                assert (line["outcome"], line["requests"]) == ("fut", 0)
        acknowledged |= {line["pid"] for line in run if line["outcome"] == "fut"}


def wait_for_a_fut(archive: Path) -> None:
    """Until a run has acknowledged one; what is stored by then has its line soon."""
    patience = threading.Event()
    for _ in range(20 * int(LIMIT)):
        with suppress(ValueError):  # a line that is being written
            if any(line["outcome"] == "fut" for run in outcomes(archive) for line in run):
                return
        patience.wait(0.05)
    raise AssertionError("no fut was acknowledged")


def test_a_killed_crawl_is_completed_by_the_same_command(
    site: SmallSite, list_: Path, tmp_path: Path
) -> None:
    archive = tmp_path / "archive"
    for answers in (1, 5, 9, 14):
        site.pause_after(answers)
        with Crawl(archive, "-a", f"input={list_}", LAFKA_RAW_SIZE=5000) as going:
            assert site.paused.wait(LIMIT)
            if answers == 14:
                wait_for_a_fut(archive)
            going.kill()
        site.resume()
    run = crawl(archive, list_)
    assert run.code == 0
    assert not run.troubles()
    assert_complete(archive, site)
    assert_kept(archive)
    assert sum(line["outcome"] == "fut" for run in outcomes(archive)[:-1] for line in run) > 0


def test_a_crawl_that_waits_for_standard_input_can_be_stopped(
    site: SmallSite, tmp_path: Path
) -> None:
    site.pause_after(1)
    with Crawl(tmp_path / "archive", "-a", "input=-") as going:
        assert going.process.stdin is not None
        going.process.stdin.write(site.papers[0].line)
        going.process.stdin.flush()
        assert site.paused.wait(LIMIT)
        going.interrupt()
        site.resume()
        assert going.process.wait(LIMIT) == STOPPED


@pytest.mark.parametrize("lines", [7, 300])
def test_a_crawl_that_asks_nobody_ends_when_scrapy_closes_it(tmp_path: Path, lines: int) -> None:
    """Its items come from ``start`` alone: the last of them, or some of many, are under way."""
    store = Store(tmp_path / "archive")
    store.put(store.fut(pdf()))
    store.raw.close()
    list_ = tmp_path / "list.tsv"
    list_.write_text(f"{PID}\t{FUTLI}\n" * lines)
    run = crawl(tmp_path / "archive", list_, CLOSESPIDER_ITEMCOUNT=5)
    assert run.code == 0
    assert not run.troubles()
    assert "Closing spider (closespider_itemcount)" in run.log
    [told] = outcomes(tmp_path / "archive")
    assert 5 <= len(told) < 250
    assert {line["outcome"] for line in told} == {"fut"}


def slow_list(site: SmallSite, folder: Path, path: str) -> Path:
    list_ = folder / "list.tsv"
    list_.write_text(f"{PID}\t{site.at(MAIN)}{path}\n")
    return list_


def test_a_stream_that_does_not_end_is_cut_and_marked(site: SmallSite, tmp_path: Path) -> None:
    data = pdf("slow")
    half = reply(data[: len(data) // 2], "application/pdf", length=len(data), then="hold")
    site.routes["/slow"] = half
    archive, list_ = tmp_path / "archive", slow_list(site, tmp_path, "/slow")
    asked = site.when_asked(1, site.at(MAIN))
    with Crawl(archive, "-a", f"input={list_}", LAFKA_SHUTDOWN_TIMEOUT=12) as going:
        assert asked.wait(LIMIT)
        going.interrupt()
        run = going.ended()
    assert run.code == STOPPED
    assert not run.troubles()
    assert outcomes(archive) == [[]]  # no word about the site
    [raw] = (archive / "raw").rglob("*.warc")
    _, _, cut = raw.read_bytes().partition(b"WARC-Truncated: time\r\n")
    assert data[: len(data) // 2] + b"\r\n\r\n" in cut
    site.routes["/slow"] = reply(data, "application/pdf")
    again = crawl(archive, list_)
    assert again.code == 0
    assert not again.troubles()
    check(archive)
    assert [found for _, _, found in futs(archive)] == [data]


def test_hosts_that_have_to_be_waited_for_are_not(site: SmallSite, tmp_path: Path) -> None:
    """Neither one with a long Crawl-delay, nor one whose robots.txt does not come."""
    for host in site.hosts:
        site.robots[host] = reply(b"User-agent: *\nCrawl-delay: 50\n", "text/plain")
    list_ = tmp_path / "list.tsv"
    list_.write_text(site.list())
    site.pause_after(1)
    with Crawl(
        tmp_path / "archive", "-a", f"input={list_}", LAFKA_SHUTDOWN_TIMEOUT=12,
        CONCURRENT_REQUESTS_PER_DOMAIN=3,
    ) as going:  # fmt: skip
        assert site.paused.wait(LIMIT)
        going.interrupt()
        run = going.ended()
    assert run.code == STOPPED
    assert not run.troubles()
    assert outcomes(tmp_path / "archive") == [[]]


@pytest.mark.long("a page that is read for as long as one may be")
def test_a_page_that_is_read_when_the_crawl_stops_is_read_again(
    site: SmallSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.routes["/standstill"] = reply(page("An abstract"))
    archive, list_ = tmp_path / "archive", slow_list(site, tmp_path, "/standstill")
    begun = tmp_path / "begun"
    os.mkfifo(begun)
    monkeypatch.setenv(BEGUN, str(begun))
    settings = {"SPIDER_MODULES": "tests.crawls.standstill", "LAFKA_SHUTDOWN_TIMEOUT": 12}
    # The child that stands still is to be the crawl's own, which it ends, and no fork of a test's.
    with Crawl(archive, "-a", f"input={list_}", fresh=True, **settings) as going:
        assert begun.read_bytes() == b"begun"
        going.interrupt()
        run = going.ended()
    assert run.code == STOPPED
    assert not run.troubles()
    assert outcomes(archive) == [[]]
    assert crawl(archive, list_).code == 0
    assert [line["outcome"] for line in outcomes(archive)[-1]] == ["splap-only"]


def test_a_futli_left_open_is_asked_until_the_site_has_the_last_word(tmp_path: Path) -> None:
    archive, list_ = tmp_path / "archive", tmp_path / "list.tsv"
    store = Store(archive)
    with SmallSite((MAIN,), 1) as site:
        futli = f"{site.at(MAIN)}/moved"
        list_.write_text(f"{PID}\t{futli}\n")
        store.append([store.fut(pdf("half"), futli=futli)], opened=True)
        store.raw.release(0)
        store.raw.close()
        for status in (b"503 Busy", b"404 Not Found"):
            site.routes["/moved"] = reply(b"", status=status.decode())
            assert crawl(archive, list_, RETRY_TIMES=0).code == 0
        assert crawl(archive, list_).code == 0
        assert site.targets().count("/moved") == 2
    told = [[(line["outcome"], line["requests"]) for line in run] for run in outcomes(archive)]
    assert told == [[("server-error", 1)], [("not-found", 1)], [("fut", 0)]]
    check(archive)


def doubled_bomb() -> bytes:
    """An answer of less than a megabyte that makes 40 GiB of zeros: gzip in gzip."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    zeros = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    inner = gzip.compress(b"", mtime=0)[:10] + zeros * 40_000
    body = gzip.compress(inner, mtime=0)
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip, gzip\r\nContent-Length: {len(body)}\r\n\r\n"
    assert len(body) < 1 << 20
    return head.encode() + body


def test_an_archive_that_a_bomb_and_a_kill_have_hit_crawls_on(tmp_path: Path) -> None:
    archive, list_ = tmp_path / "archive", tmp_path / "list.tsv"
    answer = doubled_bomb()
    options = {"LAFKA_MAX_PAYLOAD": 1 << 20, "CONCURRENT_REQUESTS_PER_DOMAIN": 1}
    with SmallSite((MAIN,), 2) as site:
        site.routes["/bomb"] = lambda _: Reply(answer)
        site.routes["/later"] = Reply(b"", "hold")
        list_.write_text(
            "".join(f"RePEc:tst:papers:{n}\t{site.at(MAIN)}/{n}\n" for n in ("bomb", "later"))
        )
        asked = site.when_asked(2, site.at(MAIN))
        with Crawl(archive, "-a", f"input={list_}", **options) as going:
            assert asked.wait(LIMIT)
            going.kill()
        [raw] = archive.glob("raw/*/*.warc")
        assert answer[-1000:] in raw.read_bytes()
        # The bound of the second crawl is the default: it is the start that has to hold one.
        list_.write_text(site.list())
        run = crawl(archive, list_)
    assert run.code == 0
    assert not run.troubles()
    assert {line["outcome"] for line in outcomes(archive)[-1]} == {"fut"}
    check(archive)
