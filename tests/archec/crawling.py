"""Real ``lafka crawl fobi`` in its own process, over a home with RePEc data by hand."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from lafka.archec.checking import check_store
from lafka.warc import Volume
from tests import lastruns, starts
from tests.archec.stores import Home
from tests.crawls.running import LIMIT, ROOT, Run, scrapy

EVERY_RUN: dict[str, Any] = {"LAFKA_REFRESH_MIN": 0, "LAFKA_REFRESH_MAX": 0}
"""What was got is due again at once."""


def template(number: object, *urls: str, series: str = "wpaper", more: str = "") -> str:
    files = "".join(f"File-URL: {url}\n" for url in urls)
    return (
        f"Template-Type: ReDIF-Paper 1.0\nTitle: Paper {number}\nAuthor-Name: Ana Lima\n{more}"
        f"{files}Handle: RePEc:abc:{series}:{number}\n\n"
    )


def command(home: Home, *arguments: str, **settings: Any) -> list[str]:
    given = EVERY_RUN | {"LAFKA_OBJECT_STORE": home.archive} | settings
    if home.database:
        given["LAFKA_CACHING_DATABASE"] = home.database
    return scrapy(("crawl", "fobi"), arguments, given, program="lafka")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fobi:
    """How a crawl ended, and its lines of the outcome feed by fobi."""

    run: Run
    lines: dict[str, dict[str, Any]]
    report: dict[str, Any]

    def outcomes(self) -> dict[str, str]:
        return {fobi: line["outcome"] for fobi, line in self.lines.items()}


def crawl(home: Home, *arguments: str, expected: int = 0, **settings: Any) -> Fobi:
    """A crawl to its end; its journals are as of now, whatever clock the home has."""
    before = set((home.archive / "runs").glob("*.jsonl"))
    done = starts.run(
        command(home, *arguments, **settings), cwd=ROOT, env=os.environ, capture_output=True,
        text=True, timeout=LIMIT,
    )  # fmt: skip
    run = Run(code=done.returncode, out=done.stdout, log=done.stderr)
    lastruns.note(done.args, run.code, run.log)
    assert run.code == expected, run.log
    feeds = set((home.archive / "runs").glob("*.jsonl")) - before
    feeds = {feed for feed in feeds if not feed.name.endswith(".problems.jsonl")}
    lines, report = {}, {}
    for feed in feeds:
        lines = {line["fobi"]: line for line in map(json.loads, feed.read_text().splitlines())}
        report = json.loads(feed.with_suffix(".json").read_text())
        told = Counter(line["outcome"] for line in lines.values())
        assert report["outcomes"] == told or not report["done"]
    return Fobi(run=run, lines=lines, report=report)


def sound(home: Home) -> None:
    """Fail where the store is not sound by its check, its evidence not by ``warc check``."""
    with home.records() as records:
        del records
        rows = home.walk()
    found = [
        f"{one.code} {one.path}: {one.sentence}" for one in check_store(home.archive, rows=rows)
    ]
    assert found == []
    assert list((home.archive / "raw").iterdir()) == []
    for path in sorted((home.archive / "evidence").glob("*.warc")):
        done = starts.verb("lafka", "warc", "check", path)
        assert done.returncode == 0, done.stdout + done.stderr


def evidence(home: Home, tist: int) -> list[Any]:
    """The records of a gathering's evidence: type, URL, header fields, block."""
    with Volume(home.archive / "evidence" / f"{tist}.warc") as volume:
        return [(one.type, one.url, one.fields, one.block().read(0, 1 << 20)) for one in volume]


def fobi_lines(home: Home) -> list[dict[str, Any]]:
    """The lines of all journals of fobis in order, with their tist."""
    return [
        {**line, "tist": tist}
        for tist, lines in home.journals().items()
        if lines[0]["kind"] == "fobi"
        for line in lines[1:]
        if line["e"] != "end"
    ]


def told(lines: Iterable[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(line["e"], line["id"]) for line in lines]
