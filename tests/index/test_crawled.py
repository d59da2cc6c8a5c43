"""The index and the report of an archive that a real crawl made, then mended and crawled again."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from lafka.cli.demo.site import PAPERS, list_of, serving
from tests import starts

ROOT = Path(__file__).parents[2]
SETTINGS = {
    "LAFKA_ALLOWED_NETWORKS": "127.0.0.0/8",
    "LAFKA_CONTACT": "operator@example.org",
}


def test_an_archive_is_crawled_indexed_mended_and_told_of(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    env = {**os.environ, **SETTINGS, "LAFKA_ARCHIVE": str(archive)}

    def scrapy(*args: str) -> str:
        done = starts.run([sys.executable, "-m", "scrapy", *args], cwd=ROOT, env=env,
                              capture_output=True, text=True, check=False)  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def report() -> Any:
        scrapy("report", "-o", str(tmp_path / "report.json"))
        return json.loads((tmp_path / "report.json").read_bytes())

    def same() -> None:
        assert scrapy("index", "--check").startswith("as one made anew")

    listed = tmp_path / "list.tsv"
    with serving() as base:
        listed.write_text(list_of(base), "utf-8")
        crawl = ("crawl", "futli", "-a", f"input={listed}", "-s", "AUTOTHROTTLE_ENABLED=False")
        scrapy(*crawl)
        scrapy("index", "--captures", "--titles")
        same()
        first = report()
        assert first["summary"]["papers"] == len(PAPERS)
        assert {row["outcome"]: row["futlis"] for row in first["outcomes"]} == {
            "fut": 5, "splap-only": 1, "not-found": 1, "robots": 1, "other-type": 1,
        }  # fmt: skip
        assert first["efficiency"]["futs_new"] == first["summary"]["futs"]
        assert [row["state"] for row in first["runs"]] == ["finished"]
        gone = next(iter((archive / "suwaf").rglob("linked.json")))
        gone.unlink()
        assert report()["summary"]["papers_with_fut"] == first["summary"]["papers_with_fut"] - 1
        same()
        scrapy("repair")
        scrapy("rebuild")
        scrapy(*crawl)
        second = report()
    same()
    assert second["summary"]["papers_with_fut"] == first["summary"]["papers_with_fut"]
    assert second["efficiency"]["lines_held"] == 5
    assert len(second["runs"]) == 2
