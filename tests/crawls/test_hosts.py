"""Many hosts, one of them slow; feeds that are read while the crawl goes on."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from lafka import settings
from lafka.payloads import decoded_max
from tests.crawls.running import Crawl, check, crawl, outcomes
from tests.sites.papers import BUSY, LATE, MAIN, OTHER, SmallSite, as_pdf, meta, page, pdf
from tests.sites.server import Reply, Seen, redirect, reply
from tests.waiting import LIMIT


def test_others_are_served_while_one_host_waits(tmp_path: Path) -> None:
    """The list has the slow host first, with more papers than there are places for trails."""
    with SmallSite((MAIN, OTHER, BUSY, LATE), 20) as site:
        (tmp_path / "list.tsv").write_text(site.list())
        others = {site.at(host) for host in site.hosts[1:]}
        slow = site.papers[0].url.removeprefix(site.at(MAIN))
        fast = [p for p in site.papers if p.url.rpartition("/")[0] in others]

        def last_of_all(_seen: Seen) -> Reply:
            done.wait()
            return as_pdf(pdf("0-0"))

        done = site.when_asked(len({t for p in fast for t in _targets(site, p.name)}), *others)
        site.routes[slow] = last_of_all
        run = crawl(
            tmp_path / "a", tmp_path / "list.tsv", LAFKA_TRAILS_MAX=10, LAFKA_STALL_TIMEOUT=LIMIT
        )
        assert done.is_set()
        assert not run.troubles()
        assert set(site.most_at_once.values()) == {1}
    assert len(outcomes(tmp_path / "a")[0]) == 80
    check(tmp_path / "a")


def _targets(site: SmallSite, name: str) -> list[str]:
    return [target for target in site.routes if target.split("/")[1] == name]


def test_trails_in_progress_go_first_and_are_bounded(tmp_path: Path) -> None:
    with SmallSite((MAIN,), 12) as site:
        (tmp_path / "list.tsv").write_text(site.list())
        run = crawl(tmp_path / "a", tmp_path / "list.tsv", LAFKA_TRAILS_MAX=1)
        assert not run.troubles()
        targets = site.targets()
    for place, target in enumerate(targets):
        if target.endswith("/a.pdf"):  # straight after its splap
            assert targets[place - 1] == target.removesuffix("/a.pdf")
    assert len(outcomes(tmp_path / "a")[0]) == 12


def test_a_host_that_all_are_sent_to_is_asked_one_at_a_time(tmp_path: Path) -> None:
    """As doi.org sends its papers to a publisher, which has papers of its own in the list."""
    with SmallSite((MAIN, OTHER), 0) as site:
        lines = []
        for number in range(20):
            target = f"/there/{number}"
            site.routes[target] = as_pdf(pdf(target))
            site.routes[f"/doi/{number}"] = redirect(site.at(OTHER) + target)
            site.routes[f"/own/{number}"] = reply(page("", meta(target)))
            lines += [f"RePEc:tst:papers:d{number}\t{site.at(MAIN)}/doi/{number}\n",
                      f"RePEc:tst:papers:o{number}\t{site.at(OTHER)}/own/{number}\n"]  # fmt: skip
        (tmp_path / "list.tsv").write_text("".join(sorted(lines)))
        resolved = site.when_asked(10, site.at(MAIN))

        def after_the_resolver(_seen: Seen) -> Reply:
            resolved.wait()
            return as_pdf(pdf("/there/0"))

        site.routes["/there/0"] = after_the_resolver
        run = crawl(tmp_path / "a", tmp_path / "list.tsv", LAFKA_STALL_TIMEOUT=LIMIT)
        assert resolved.is_set()
        assert not run.troubles()
        assert site.most_at_once == {MAIN: 1, OTHER: 1}
    assert [line["outcome"] for line in outcomes(tmp_path / "a")[0]] == ["fut"] * 40


def test_more_than_one_connection_a_host_where_the_operator_says_so(tmp_path: Path) -> None:
    with SmallSite((MAIN,), 30) as site:
        (tmp_path / "list.tsv").write_text(site.list())
        run = crawl(tmp_path / "a", tmp_path / "list.tsv", CONCURRENT_REQUESTS_PER_DOMAIN=3)
        assert not run.troubles()
        assert site.most_at_once[MAIN] <= 3
    assert len(outcomes(tmp_path / "a")[0]) == 30


def test_an_outcome_is_told_after_its_suwaf_is_there(tmp_path: Path) -> None:
    """Whoever reads the feed while the crawl goes on can cut out each fut of it at once."""
    archive, read = tmp_path / "a", 0
    with SmallSite((MAIN, OTHER), 30) as site:
        (tmp_path / "list.tsv").write_text(site.list())
        with Crawl(archive, "-a", f"input={tmp_path / 'list.tsv'}") as going:
            while going.process.poll() is None:
                read += _read(archive)
            assert going.ended().code == 0
        assert _read(archive) == sum(len(paper.futs) for paper in site.papers)
    assert read > 0


def _read(archive: Path) -> int:
    """How many futs the feed names; each has to be where the line and the suwaf say."""
    futs = 0
    for feed in (archive / "runs").glob("*.jsonl"):
        whole, _, _ = feed.read_bytes().rpartition(b"\n")
        for line in map(json.loads, whole.splitlines()):
            path = line["pid"].replace(":", "/")
            for fut in line["futs"]:
                warc = (archive / "warc" / f"{path}.warc").read_bytes()
                assert warc[fut["s"] : fut["s"] + fut["l"]].startswith(b"%PDF-")
                suwaf = json.loads((archive / "suwaf" / f"{path}.json").read_bytes())
                (entry,) = suwaf[line["pid"]][line["futli"]].values()
                assert (entry["s"], entry["l"]) == (fut["s"], fut["l"])
                futs += 1
    return futs


@pytest.mark.long("bombs that are decoded for seconds")
def test_bombs_are_left_before_they_hold_up_other_hosts(tmp_path: Path) -> None:
    """Five GiB were to be decoded by the one thread that writes what every host answers."""
    bomb = gzip.compress(pdf("lead"), mtime=0) + gzip.compress(bytes(1 << 24), mtime=0) * 64
    with SmallSite((MAIN, OTHER), 8) as site:
        lines = [site.list()]
        for number in range(5):
            target = f"/bomb/{number}"
            site.routes[target] = as_pdf(bomb, "Content-Encoding: gzip")
            lines.insert(0, f"RePEc:tst:papers:b{number}\t{site.at(MAIN)}{target}\n")
        (tmp_path / "list.tsv").write_text("".join(lines))
        counting = json.dumps({**settings.EXTENSIONS, "tests.crawls.counting.Decoded": 0})
        run = crawl(tmp_path / "a", tmp_path / "list.tsv", EXTENSIONS=counting)
        assert not run.troubles()
    found = {line["pid"]: line["outcome"] for line in outcomes(tmp_path / "a")[0]}
    assert {found.pop(f"RePEc:tst:papers:b{number}") for number in range(5)} == {"too-big"}
    assert found == {paper.pid: paper.outcome for paper in site.papers}
    piece, rest = 1 << 20, 1 << 20
    assert 5 << 26 < run.stats["decoded"] < 5 * (decoded_max(len(bomb)) + piece) + rest
    check(tmp_path / "a")
