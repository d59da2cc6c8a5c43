"""How far the links of a splap are followed."""

from __future__ import annotations

from pathlib import Path

from tests.crawls.running import check, crawl, futs, outcomes
from tests.sites.papers import MAIN, SmallSite, as_pdf, link, page, pdf
from tests.sites.server import reply


def test_every_pdf_among_the_links_is_kept_and_equal_ones_once(tmp_path: Path) -> None:
    archive, pid = tmp_path / "a", "RePEc:tst:papers:"
    with SmallSite((MAIN,), 0) as site:
        for name, data in (("a", "a"), ("b", "b"), ("same", "a"), ("c", "c")):
            site.routes[f"/{name}.pdf"] = as_pdf(pdf(data))
        urls = ("/b.pdf", "/x.html", "/a.pdf", "/same.pdf", "mailto:a@example.org", "/b.pdf")
        links = "".join(map(link, urls)) + link("/c.pdf", "Slides")
        site.routes["/many"] = reply(page(links))
        site.routes["/x.html"] = reply(page("nothing"))
        site.routes["/capped"] = reply(page("".join(link(f"/{n}.html", f"{n}") for n in range(9))))
        lines = (f"{pid}{name}\t{site.at(MAIN)}/{name}\n" for name in ("many", "capped"))
        (tmp_path / "list.tsv").write_text("".join(lines))
        run = crawl(archive, tmp_path / "list.tsv", "-a", "links=all", LAFKA_LINKS_MAX=6)
        assert not run.troubles()
        asked = site.targets()
    check(archive)
    assert len(asked) == len(set(asked))
    got = {line["pid"]: line for line in outcomes(archive)[0]}
    many, capped = got[pid + "many"], got[pid + "capped"]
    assert many["outcome"] == "fut"
    assert not many["capped"]
    assert sorted(c["url"].rpartition("/")[2] for c in many["candidates"]) == [
        "a.pdf", "b.pdf", "c.pdf", "same.pdf", "x.html",
    ]  # fmt: skip
    assert sum(fut["new"] for fut in many["futs"]) == 3
    places = {fut["url"].rpartition("/")[2]: (fut["s"], fut["l"]) for fut in many["futs"]}
    assert places["a.pdf"] == places["same.pdf"]
    assert {data for _, _, data in futs(archive)} == {pdf("a"), pdf("b"), pdf("c")}
    assert (capped["outcome"], capped["capped"]) == ("splap-only", True)
    assert len(capped["candidates"]) == 6


SERIES = "".join(
    f"<li>No. 04-{n}: A. Quill, <i>{title} and what came of it</i>. <a href='/wp/04{n}.pdf'>PDF</a>"
    for n, title in ((10, "Trade in vellum"), (11, "Slow glaciers"), (12, "Wages of copyists"))
)


def test_of_a_series_that_lists_many_papers_only_the_own_one_is_kept(tmp_path: Path) -> None:
    archive, pid = tmp_path / "a", "RePEc:tst:papers:04-11"
    with SmallSite((MAIN,), 0) as site:
        for n in (10, 11, 12):
            site.routes[f"/wp/04{n}.pdf"] = as_pdf(pdf(str(n)))
        site.routes["/wp/"] = reply(page(f"<h1>Papers</h1><ul>{SERIES}</ul>"))
        (tmp_path / "list.tsv").write_text(f"{pid}\t{site.at(MAIN)}/wp/\n")
        run = crawl(archive, tmp_path / "list.tsv")
        assert not run.troubles()
        asked = site.targets()
    assert [path for path in asked if path.endswith(".pdf")] == ["/wp/0411.pdf"]
    assert [data for _, _, data in futs(archive)] == [pdf("11")]
    assert outcomes(archive)[0][0]["outcome"] == "fut"


def test_a_form_that_says_post_is_asked_by_get(tmp_path: Path) -> None:
    archive, pid = tmp_path / "a", "RePEc:tst:papers:x"
    with SmallSite((MAIN,), 0) as site:
        form = "<form method=post action='/record/5512/full.pdf'><button>Agree</button></form>"
        site.routes["/record/5512"] = reply(page(form))
        site.routes["/record/5512/full.pdf"] = as_pdf(pdf("5512"))
        (tmp_path / "list.tsv").write_text(f"{pid}\t{site.at(MAIN)}/record/5512\n")
        assert not crawl(archive, tmp_path / "list.tsv").troubles()
    [line] = outcomes(archive)[0]
    assert line["outcome"] == "fut"
    assert [tried["found_by"] for tried in line["candidates"]] == ["form"]


def test_a_page_that_says_that_it_is_none_is_kept_and_ends_as_not_found(tmp_path: Path) -> None:
    archive, pid = tmp_path / "a", "RePEc:tst:papers:1"
    with SmallSite((MAIN,), 0) as site:
        site.routes["/1"] = reply(b"<title>Page not found</title><h1>Sorry</h1>")
        (tmp_path / "list.tsv").write_text(f"{pid}\t{site.at(MAIN)}/1\n")
        run = crawl(archive, tmp_path / "list.tsv")
        assert not run.troubles()
    check(archive)
    (line,) = outcomes(archive)[0]
    assert (line["outcome"], line["splap"]) == ("not-found", line["futli"])
    assert line["error"] == "the page says so, with status 200: 'Page not found'"
