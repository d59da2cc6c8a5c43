"""The whole road: a crawl of every kind of paper, then the same list again."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from tests.crawls.running import Run, check, crawl, files, futs, outcomes
from tests.sites.papers import LINKS_MAX, MAIN, MAX_PAYLOAD, Paper, PaperSite
from tests.sites.raw_bytes import server_context

SETTINGS: dict[str, Any] = {
    "LAFKA_MAX_PAYLOAD": MAX_PAYLOAD,
    "LAFKA_LINKS_MAX": LINKS_MAX,
    "LAFKA_STALL_TIMEOUT": 3,
}
EXPECTED = ("neither PDF nor HTML", "Got data loss in http://127.0.0")
FIELDS = ["pid", "futli", "outcome", "time", "futs", "splap", "candidates", "capped", "requests",
          "error", "as_written"]  # fmt: skip


@dataclass(kw_only=True)
class Road:
    site: PaperSite
    archive: Path
    list: Path
    run: Run
    asked: list[str]
    hosts: set[str]
    most_at_once: Counter[str]

    @cached_property
    def lines(self) -> dict[str, dict[str, Any]]:
        """The first run's outcome lines by pid."""
        return {line["pid"]: line for line in outcomes(self.archive)[0]}

    def again(self, *arguments: str) -> tuple[Run, dict[str, dict[str, Any]], list[str]]:
        """The same list again: the run, its outcome lines by pid, what the site was asked."""
        self.site.forget()
        run = crawl(self.archive, self.list, *arguments, **SETTINGS)
        return run, {line["pid"]: line for line in outcomes(self.archive)[-1]}, self.site.targets()


@pytest.fixture(scope="module")
def road(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Road]:
    folder = tmp_path_factory.mktemp("road")
    with PaperSite(server_context(folder)) as site:
        list_ = folder / "list.tsv"
        list_.write_text(site.list(), "utf-8")
        run = crawl(folder / "archive", list_, **SETTINGS)
        yield Road(
            site=site, archive=folder / "archive", list=list_, run=run, asked=site.targets(),
            hosts={seen.host for seen in site.seen}, most_at_once=site.most_at_once.copy(),
        )  # fmt: skip


def test_there_are_papers_of_every_kind(road: Road) -> None:
    kinds = Counter(paper.outcome for paper in road.site.papers)
    assert kinds.total() > 100
    assert kinds.keys() == {
        "fut", "splap-only", "other-type", "not-found", "gone", "refused", "server-error",
        "timeout", "tls", "connection", "bad-http", "too-big", "truncated", "robots",
        "bot-challenge", "loop",
    }  # fmt: skip


def test_each_line_has_one_outcome_the_expected_one(road: Road) -> None:
    assert road.run.code == 0, road.run.log
    lines = outcomes(road.archive)[0]
    assert Counter(line["pid"] for line in lines) == Counter(p.pid for p in road.site.papers)
    got = {p.name: road.lines[p.pid]["outcome"] for p in road.site.papers}
    assert got == {p.name: p.outcome for p in road.site.papers}
    assert all(list(line) == [*FIELDS, "chain"] for line in lines)
    assert {p.name: road.lines[p.pid]["futli"] for p in road.site.papers} == {
        p.name: p.url for p in road.site.papers
    }
    listed = {line.split("\t")[1] for line in road.list.read_text("utf-8").splitlines()}
    assert {line["as_written"] for line in lines} == listed
    for paper in road.site.papers:
        error = road.lines[paper.pid]["error"]
        if paper.outcome == "splap-only":
            assert "the cap of" not in (error or ""), paper.name
        else:
            assert (error is None) == (paper.outcome in ("fut", "other-type")), paper.name


def test_each_s_and_l_cuts_out_a_pdf_as_it_was_sent(road: Road) -> None:
    cut: dict[str, set[bytes]] = defaultdict(set)
    for pid, futli, data in futs(road.archive):
        cut[pid].add(data)
        assert futli == road.lines[pid]["futli"]
    for paper in road.site.papers:
        assert cut[paper.pid] == set(paper.futs), paper.name


def test_the_archive_is_sound_and_raw_is_empty(road: Road) -> None:
    check(road.archive)


def test_the_log_has_no_trouble(road: Road) -> None:
    assert not road.run.troubles(*EXPECTED)


def test_stats_agree_with_the_feed(road: Road) -> None:
    lines, stats = outcomes(road.archive)[0], road.run.stats
    for outcome, count in Counter(line["outcome"] for line in lines).items():
        assert stats[f"lafka/trails/{outcome}"] == count
    assert stats["item_scraped_count"] == len(lines)
    assert stats["lafka/requests"] == sum(line["requests"] for line in lines)
    new = sum(fut["new"] for line in lines for fut in line["futs"])
    assert stats["lafka/futs/new"] == new


def test_requests_are_what_the_site_has_seen(road: Road) -> None:
    for paper in road.site.papers:
        if paper.requests is not None:
            assert road.lines[paper.pid]["requests"] == paper.requests, paper.name
    # A reset on a kept connection can mean that it was stale: Twisted asks once more, in silence.
    lines = [line for line in outcomes(road.archive)[0] if not line["futli"].endswith("/p/reset")]
    asked = [target for target in road.asked if target != "/p/reset"]
    assert sum(line["requests"] for line in lines) == len(asked), Counter(asked)


def test_no_host_is_asked_twice_at_once(road: Road) -> None:
    assert set(road.most_at_once.values()) == {1}


def test_nothing_that_was_not_led_to_is_asked(road: Road) -> None:
    led_to = {"/nowhere", "/forbidden/a.pdf", "/forbidden/b.pdf"}
    assert "/forbidden/a.pdf" not in road.asked
    assert "/forbidden/b.pdf" not in road.asked
    unknown = {t for t in road.asked if t not in road.site.routes and t not in led_to}
    assert unknown <= {"/h/nothing"}


def _has_fut(road: Road, paper: Paper) -> bool:
    return road.lines[paper.pid]["outcome"] == "fut"


def test_the_same_list_again_asks_for_no_fut_and_stores_nothing(road: Road) -> None:
    before = files(road.archive)
    run, lines, asked = road.again()
    assert run.code == 0
    assert files(road.archive) == before
    assert not run.troubles(*EXPECTED)
    futs_had = {p.pid for p in road.site.papers if _has_fut(road, p)}
    for paper in road.site.papers:
        line = lines[paper.pid]
        assert line["outcome"] == paper.outcome, paper.name
        assert not any(fut["new"] for fut in line["futs"])
        if line["outcome"] == "fut":  # a held line names what is held
            assert line["futs"], paper.name
        assert (line["requests"] == 0) == (
            paper.pid in futs_had or road.lines[paper.pid]["requests"] == 0
        ), paper.name
    assert "/p/no-fut" in asked
    assert not {f"/p/{p.name}" for p in road.site.papers if p.pid in futs_had} & set(asked)


def test_a_fresh_fut_is_not_asked_for_again(road: Road) -> None:
    before = files(road.archive)
    had = road.list.with_name("had.tsv")
    had.write_text("".join(p.line for p in road.site.papers if _has_fut(road, p)), "utf-8")
    road.site.forget()
    run = crawl(road.archive, had, "-a", "refresh=30d", **SETTINGS)
    assert run.code == 0
    assert road.site.seen == []
    assert files(road.archive) == before
    assert {line["outcome"] for line in outcomes(road.archive)[-1]} == {"fut"}


def test_asking_again_for_all_stores_revisits_only(road: Road) -> None:
    before = files(road.archive)
    run, lines, asked = road.again("-a", "refresh=all")
    assert run.code == 0
    assert not run.troubles(*EXPECTED)
    check(road.archive)
    after = files(road.archive)
    assert after.keys() == before.keys()
    for name, data in before.items():
        # A page that only leads on is part of the way, which is copied at each visit.
        if name.endswith(".warc") and Path(name).stem not in ("meta-refresh", "refresh-header"):
            assert after[name].startswith(data)
            assert b"\r\nWARC-Type: response\r\n" not in _records(after[name][len(data) :]), name
    assert len(asked) >= len([p for p in road.site.papers if _has_fut(road, p)])
    for paper in road.site.papers:
        assert lines[paper.pid]["outcome"] in (paper.outcome, "fut"), paper.name
        assert not any(fut["new"] for fut in lines[paper.pid]["futs"])
        if paper.futs:
            places = {(f["s"], f["l"]) for f in road.lines[paper.pid]["futs"]}
            assert {(f["s"], f["l"]) for f in lines[paper.pid]["futs"]} == places


def _records(tail: bytes) -> bytes:
    """Responses that are hops, which have no payload to be held, left out."""
    kept = [r for r in tail.split(b"WARC/1.1\r\n") if b"\r\n\r\nHTTP/1.1 30" not in r]
    return b"".join(kept)


def test_the_password_of_nobody_is_kept(road: Road) -> None:
    names = [
        name for name, data in files(road.archive).items() if b"authorization:" in data.lower()
    ]
    assert names == []


def test_hosts_answered_from_loopback_only(road: Road) -> None:
    assert road.hosts <= set(road.site.hosts)
    assert MAIN in road.hosts
