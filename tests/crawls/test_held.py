"""A list that is held: told past the engine, or as items where somebody else takes those."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.crawls.running import Run, crawl, outcomes
from tests.stores import FUTLI, Store, pdf

LINES, PAPERS = 1_200, 3


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    store = Store(tmp_path / "archive")
    for number in range(PAPERS):
        store.put(store.fut(pdf(number), pid=f"RePEc:abc:wpaper:{number}"))
    store.raw.close()
    return tmp_path / "archive"


def told(archive: Path, run: Run, list_: Path) -> list[dict[str, Any]]:
    """The lines of the last feed, without what no two runs have in common."""
    assert run.code == 0
    assert not run.troubles()
    [feed] = outcomes(archive)
    [report] = [json.loads(path.read_bytes()) for path in (archive / "runs").glob("*.json")]
    assert report["done"]
    assert report["lines"] == report["list"]["lines"] == len(feed) == LINES + 1
    assert report["outcomes"] == {"bad-pid": 1, "fut": LINES}
    assert report["futs"] == {"new": 0, "held": LINES, "bytes": 0, "labelled": 0}
    assert report["chain"] == feed[-1]["chain"]
    assert report["list"]["bytes"] == list_.stat().st_size
    assert run.stats["lafka/trails/fut"] == LINES
    assert f"{LINES + 1:,} of {LINES + 1:,} lines in " in run.log
    for path in (archive / "runs").iterdir():
        path.unlink()
    common = [{k: v for k, v in line.items() if k not in ("chain", "time")} for line in feed]
    return sorted(common, key=lambda line: (line["pid"], line["futli"]))


def test_a_feed_is_the_same_past_the_engine_and_through_it(archive: Path, tmp_path: Path) -> None:
    list_ = tmp_path / "list.tsv"
    lines = [f"RePEc:abc:wpaper:{n % PAPERS}\t{FUTLI}\n" for n in range(LINES)]
    list_.write_text("".join([*lines, f"nothing\x01\t{FUTLI}\n"]))
    run = crawl(archive, list_)
    past = told(archive, run, list_)
    assert run.stats["item_scraped_count"] == 1
    run = crawl(archive, list_, "-o", f"{tmp_path / 'other.jl'}")
    assert told(archive, run, list_) == past
    assert run.stats["item_scraped_count"] == LINES + 1
    assert len((tmp_path / "other.jl").read_bytes().splitlines()) == LINES + 1
