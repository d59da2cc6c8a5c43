"""What is seen inside of futs decides how they are called, and stands in WARC and suwaf."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from lafka.papers import Archive
from lafka.pids import SCHEMES
from tests.crawls.running import check, crawl, outcomes, scrapy
from tests.papers.crawling.test_insides import HEADED, PAPER, PROSE, TITLE, VITA
from tests.sites.made_pdfs import Leaf, Text, made
from tests.sites.papers import MAIN, SmallSite, as_pdf, link, page
from tests.sites.server import reply

pytest.importorskip("pypdfium2")
PID = "RePEc:tst:papers:"
OTHER_TITLE = Text(said="Trade in vellum and what came of it in the north", size=17)
ANOTHER = made([Leaf(lines=(OTHER_TITLE, *PROSE)), *[Leaf(lines=PROSE)] * 3])
SHEET = made(
    [
        Leaf(
            lines=(
                Text(said="Application form"),
                Text(said=TITLE),
                Text(said="Name: _____ Date: _____"),
                Text(said="Please complete and return. Signature: ______"),
            )
        )
    ]
)
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


def bare(href: str, named: str = TITLE) -> bytes:
    """A page that shows nothing of a paper but a title, with one link that says nothing."""
    title = f"<title>{named}</title><h1>{TITLE}</h1>"
    return f"<!doctype html>{title}<p>Text.</p><a href={href}>Press</a>".encode()


def test_on_a_page_that_is_not_clear_what_is_inside_decides(tmp_path: Path) -> None:
    archive = tmp_path / "a"
    pdfs = {"a": PAPER, "b": VITA, "c": ANOTHER, "d": SHEET}
    with SmallSite((MAIN,), 0) as site:
        for name, data in pdfs.items():
            site.routes[f"/{name}.pdf"] = as_pdf(data)
            site.routes[f"/{name}"] = reply(bare(f"/{name}.pdf"))
        site.routes["/e.pdf"], site.routes["/e"] = as_pdf(HEADED), reply(bare("/e.pdf", "A. Quill"))
        site.routes["/f"] = reply(bare("/c.pdf", "A. Quill"))
        (tmp_path / "list.tsv").write_text(list_of(site, *pdfs, "e", "f"))
        assert not crawl(archive, tmp_path / "list.tsv").troubles()
    check(archive)
    ends = {line["pid"].removeprefix(PID): line["outcome"] for line in outcomes(archive)[0]}
    assert {name for name, outcome in ends.items() if outcome == "fut"} == {"a", "e"}
    assert set(ends.values()) == {"fut", "splap-only"}
    assert Archive(archive).fut(f"{PID}a").read() == PAPER
    assert [(e["inside"], e.get("label", "")) for e in entries(archive, "a")] == [("title", "")]


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
