"""A crawl is replayed from what an earlier one archived; the site is gone by then."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.crawls.running import Run, check, crawl, outcomes
from tests.sites.papers import LINKS_MAX, MAX_PAYLOAD, PaperSite
from tests.sites.raw_bytes import server_context

SETTINGS: dict[str, Any] = {"LAFKA_MAX_PAYLOAD": MAX_PAYLOAD, "LAFKA_LINKS_MAX": LINKS_MAX}
KINDS = ("fut", "splap-only", "other-type", "not-found", "gone", "bot-challenge")


@dataclass(kw_only=True)
class Replayed:
    first: Path
    again: Path
    list: Path
    run: Run


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Replayed:
    folder = tmp_path_factory.mktemp("replay")
    list_, first, again = folder / "list.tsv", folder / "first", folder / "again"
    with PaperSite(server_context(folder)) as site:
        wanted = [paper for paper in site.papers if paper.outcome in KINDS][::3]
        list_.write_text("".join(paper.line for paper in wanted), "utf-8")
        run = crawl(first, list_, LAFKA_KEEP_RAW=1, **SETTINGS)
        assert run.code == 0, run.log
    run = crawl(again, list_, LAFKA_WAYBACK=first / "raw", LAFKA_ALLOWED_NETWORKS="", **SETTINGS)
    return Replayed(first=first, again=again, list=list_, run=run)


def lines(archive: Path) -> dict[str, dict[str, Any]]:
    [feed] = outcomes(archive)
    return {line["pid"]: line for line in feed}


def test_a_replay_ends_each_line_as_the_crawl_did(replayed: Replayed) -> None:
    assert replayed.run.code == 0, replayed.run.log
    first, again = lines(replayed.first), lines(replayed.again)
    assert len(first) > 30
    assert first.keys() == again.keys()
    for pid, line in first.items():
        for key in ("outcome", "splap", "capped"):
            assert again[pid][key] == line[key], (pid, key, again[pid])
        assert [c["url"] for c in again[pid]["candidates"]] == [
            c["url"] for c in line["candidates"]
        ]


def held(archive: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """The entries of all suwafs by pid and futli."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for suwaf in (archive / "suwaf").rglob("*.json"):
        entries = json.loads(suwaf.read_bytes())
        del entries["_warc"]
        for pid, futlis in entries.items():
            found |= {(pid, futli): times for futli, times in futlis.items()}
    return found


def test_a_replay_gives_the_same_futs_of_the_time_when_they_were_captured(
    replayed: Replayed,
) -> None:
    first, again = held(replayed.first), held(replayed.again)
    assert len(first) > 20

    def without_time(times: dict[str, Any]) -> list[tuple[str, ...]]:
        keys = ("url", "digest", "found_by", "html_url")
        return sorted(tuple(fut.get(key, "") for key in keys) for fut in times.values())

    assert {k: without_time(v) for k, v in again.items()} == {
        k: without_time(v) for k, v in first.items()
    }
    captured = {time for times in first.values() for time in times}
    assert max(time for times in again.values() for time in times) <= max(captured)


def test_what_a_replay_archives_is_sound(replayed: Replayed) -> None:
    check(replayed.again)


def test_a_replay_from_paper_warcs_gives_the_futs_too(replayed: Replayed, tmp_path: Path) -> None:
    some = replayed.list.read_text("utf-8").splitlines(keepends=True)[:12]
    (tmp_path / "list.tsv").write_text("".join(some), "utf-8")
    settings = SETTINGS | {"LAFKA_WAYBACK": replayed.first / "warc", "LAFKA_ALLOWED_NETWORKS": ""}
    run = crawl(tmp_path / "archive", tmp_path / "list.tsv", **settings)
    assert run.code == 0, run.log
    first, again = lines(replayed.first), lines(tmp_path / "archive")
    assert len(again) == len(some)
    for pid, line in again.items():
        assert [f["digest"] for f in line["futs"]] == [f["digest"] for f in first[pid]["futs"]]
