"""What is seen inside of futs decides how they are called, and stands in WARC and suwaf."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from lafka.papers import Archive
from lafka.pids import SCHEMES
from tests.crawls.running import check, crawl, outcomes, scrapy
from tests.papers.crawling.test_insides import PAPER, TITLE, VITA
from tests.sites.papers import MAIN, SmallSite, as_pdf, link, page
from tests.sites.server import reply

pytest.importorskip("pypdfium2")
PID = "RePEc:tst:papers:"
HEAD = f"<title>{TITLE}</title><meta name=citation_title content='{TITLE}'>"


def list_of(site: SmallSite, *names: str) -> str:
    return "".join(f"{PID}{name}\t{site.at(MAIN)}/{name}\n" for name in names)


def fill(site: SmallSite) -> None:
    """Pages that cite a vita, that call the paper its cover, and a vita that the list names."""
    site.routes["/vita.pdf"], site.routes["/paper.pdf"] = as_pdf(VITA), as_pdf(PAPER)
    site.routes["/direct"] = as_pdf(VITA)
    cited = f"{HEAD}<meta name=citation_pdf_url content='/vita.pdf'>"
    site.routes["/cited"] = reply(page(link("/paper.pdf"), cited))
    site.routes["/odd"] = reply(page(link("/paper.pdf", "Cover"), HEAD))


def test_what_is_seen_inside_makes_the_label_and_can_be_rebuilt(tmp_path: Path) -> None:
    archive = tmp_path / "a"
    with SmallSite((MAIN,), 0) as site:
        fill(site)
        (tmp_path / "list.tsv").write_text(list_of(site, "cited", "odd", "direct"))
        assert not crawl(archive, tmp_path / "list.tsv").troubles()
        again = crawl(archive, tmp_path / "list.tsv", "-a", "refresh=all")
        assert not again.troubles()
    check(archive)
    ends = {line["pid"]: line for line in outcomes(archive)[0]}
    assert {line["outcome"] for line in ends.values()} == {"fut"}
    seen = {
        name: [(e["inside"], e.get("label", "")) for e in entries(archive, name)]
        for name in ("cited", "odd", "direct")
    }
    assert seen["cited"] == [("cv", "other"), ("title", "")] * 2
    assert seen["odd"] == [("title", "")] * 2
    assert seen["direct"] == [("cv", "")] * 2, "what the list names is the fut"
    assert Archive(archive).fut(f"{PID}cited").read() == PAPER
    suwafs = {path: path.read_bytes() for path in (archive / "suwaf").rglob("*.json")}
    for path in suwafs:
        path.unlink()
    subprocess.run(scrapy(["rebuild"], [], {"LAFKA_ARCHIVE": archive}), check=True)
    assert {path: path.read_bytes() for path in suwafs} == suwafs


def entries(archive: Path, name: str) -> list[dict[str, str]]:
    path = Archive(archive).suwaf_path(SCHEMES["RePEc"].pid(f"{PID}{name}"))
    (times,) = json.loads(path.read_bytes())[f"{PID}{name}"].values()
    return [*times.values()]


def test_by_a_setting_nobody_looks(tmp_path: Path) -> None:
    archive = tmp_path / "a"
    with SmallSite((MAIN,), 0) as site:
        fill(site)
        (tmp_path / "list.tsv").write_text(list_of(site, "cited"))
        assert not crawl(archive, tmp_path / "list.tsv", LAFKA_LOOK_INSIDE=False).troubles()
    check(archive)
    (entry,) = entries(archive, "cited")
    assert "inside" not in entry
    assert entry["url"].endswith("/vita.pdf")
