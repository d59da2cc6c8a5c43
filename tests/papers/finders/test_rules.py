"""The tables of the finders: each row has a proof, each short cut is one."""

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from lafka.papers.finders import Page, find, sure, urls, weights, words
from lafka.papers.finders.identity import identify
from lafka.papers.finders.platforms import PLATFORMS, RECORDS
from lafka.papers.finders.rewrites import REWRITES
from lafka.papers.finders.rules import in_lower_case

PAGES = Path(__file__).parents[2] / "pages"
HREF = re.compile(rb"(?:href|src|content|data)=[\"']?([^\"'\s>]+)")


def one_link(href, url="https://journal.example.org/x"):
    return Page(url, f'<a href="{href}">Full text</a>'.encode())


@pytest.mark.parametrize("rewrite", list(REWRITES), ids=lambda r: r.name)
def test_a_rewrite_stands_beside_its_original(rewrite):
    seen, made = rewrite.example
    assert rewrite.pattern.sub(rewrite.replace, seen, count=1) == made
    found = [c.url for c in find(one_link(seen, f"{seen[: seen.find('/', 8)]}/x"))]
    assert made in found
    assert seen in found
    assert found.index(made) < found.index(seen)


@pytest.mark.parametrize("row", list(PLATFORMS), ids=lambda p: p.name)
def test_a_platform_is_guessed_from_its_example(row):
    seen, made = row.example
    (candidate,) = find(Page(seen, b"<p>no links</p>"))
    assert (candidate.url, candidate.found_by) == (made, f"platform:{row.name}")
    assert candidate.promising


def paper_with(href, text):
    title = "Slow ice in the valleys"
    body = f'<title>{title}</title><h1>{title}</h1>Abstract. Ice. <a href="{href}">{text}</a>'
    return Page("https://ada-quill.example/publication/ice/", body.encode())


@pytest.mark.parametrize("row", list(RECORDS), ids=lambda p: p.name)
def test_a_button_that_leads_to_a_record_gives_the_records_file(row):
    seen, made = row.example
    best = find(paper_with(seen, "PDF"))[0]
    assert (best.url, best.label, best.promising) == (made, "fut", True)


@pytest.mark.parametrize("row", [r for r in RECORDS if r.name != "arxiv"], ids=lambda p: p.name)
def test_a_link_that_gives_no_file_leads_to_the_record_alone(row):
    seen, made = row.example
    assert made not in [c.url for c in find(paper_with(seen, "Ann Inkwell"))]


def test_a_platform_is_not_asked_where_the_page_says_better():
    page = Page("https://x.example/doi/full/10.1000/182", b"<a href='/f/10.1000/182.pdf'>PDF</a>")
    first, second = find(page)
    assert first.url == "https://x.example/f/10.1000/182.pdf"
    assert second.found_by == "platform:atypon"
    assert not second.promising


@pytest.mark.parametrize("rule", list(weights.HREF), ids=lambda r: r.name)
def test_the_stems_let_through_all_that_the_pattern_fits(rule):
    for path in PAGES.glob("*.html"):
        for href in HREF.findall(path.read_bytes()):
            text = urls.path_and_query(f"https://x.example/{href.decode().lower()}")
            assert rule.fits(text) == bool(rule.pattern.search(text)), text


@pytest.mark.parametrize("rewrite", list(REWRITES), ids=lambda r: r.name)
def test_a_rewrites_stem_stands_in_all_that_its_pattern_fits(rewrite):
    assert rewrite.stem == rewrite.stem.lower()
    assert rewrite.stem in rewrite.example[0].lower()
    for path in PAGES.glob("*.html"):
        for href in HREF.findall(path.read_bytes()):
            url = f"https://x.example/{href.decode()}"
            assert not rewrite.pattern.search(url) or rewrite.stem in url.lower(), url


def test_rows_that_are_tried_together_fit_as_each_alone():
    for path in PAGES.glob("*.html"):
        for href in HREF.findall(path.read_bytes()):
            text = urls.path_and_query(f"https://x.example/{href.decode().lower()}")
            alone = [rule for rule in weights.HREF if rule.pattern.search(text)]
            assert weights.HREF.fitting(text) == alone, text


def test_a_pattern_for_lower_case_finds_what_it_finds_without_regard_to_case():
    for pattern in (r"\bjel\b|\bkey ?words", r"(\babstract|\bresumo) ?[:.]", r"\bé?t\b|\b10\.\d"):
        plain, quick = re.compile(pattern, re.IGNORECASE), in_lower_case(pattern)
        for path in PAGES.glob("*.html"):
            text = path.read_text("utf-8", "replace")
            found = [m.span() for m in plain.finditer(text)]
            assert [m.span() for m in quick.finditer(text.lower())] == found, path


def test_every_number_has_its_reason():
    source = Path(weights.__file__).read_text("utf-8")
    for line in source.splitlines():
        if re.match(r"[A-Z_]+ = -?\d", line):
            assert "#" in line, line
    for rule in (*weights.HREF, *weights.TEXT, *weights.SECTIONS, *weights.HEADINGS):
        assert rule.why


def test_names_of_rules_are_told_apart():
    rules = (*weights.HREF, *weights.TEXT, *weights.SECTIONS, *weights.HEADINGS)
    names = [rule.name for rule in rules]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        ("/doi/pdf/10.5555/slow.12", "own-identifier"),
        ("/doi/pdf/10.5555%2Fslow.12", "own-identifier"),
        ("/doi/pdf/10.5555/slow.12.s1", "own-identifier"),
        ("/content/10.5555/slow.12v3.full.pdf", "own-identifier"),
        ("/doi/pdf/10.5555/slow.123", "other-identifier"),
        ("/doi/pdf/10.5555/quick.12", "other-identifier"),
        ("/doi/abs/10.5555/slow.12", "own-view"),
        ("/about", None),
    ],
)
def test_a_doi_in_an_address_is_ours_or_another_papers(href, expected):
    own = identify("https://x.example/doi/full/10.5555/slow.12")
    reasons = own.judge(urls.path_and_query(f"https://x.example{href}"))
    assert reasons == ((expected,) if expected else ())


@pytest.mark.parametrize(
    ("url", "href", "expected"),
    [
        ("/handle/1885/512", "/bitstream/1885/512/1/a.pdf", "own-number"),
        ("/handle/1885/512", "/bitstream/1885/5123/1/a.pdf", "other-identifier"),
        ("/article/view/512", "/article/download/512/9", "own-number"),
        ("/article/view/512", "/article/download/498/9", "other-identifier"),
        ("/show.php?id=512", "/get.php?id=512", "own-number"),
        ("/show.php?id=512", "/get.php?id=513", "other-identifier"),
        ("/show.php?id=512&sid=1a", "/get.php?id=512&sid=2b", "own-number"),
        ("/pii/S2211124712004263", "/pdf/PIIS2211124712004263.pdf", "own-identifier"),
        ("/abstract/S2211-1247(12)00426-3", "/pdf/PIIS2211124712004263.pdf", "own-identifier"),
        ("/content/28/22/2891.abstract", "/content/28/22/2891.full.pdf", "own-address"),
        ("/content/28/22/2891.abstract", "/content/28/22/2899.full.pdf", "other-identifier"),
        ("/n/slow-glaciers", "/n/slow-glaciers/pdf", "own-address"),
        ("/2019/512", "/2019/report.pdf", None),
    ],
)
def test_an_address_is_ours_by_its_numbers(url, href, expected):
    reasons = identify(f"https://x.example{url}").judge(href.lower())
    assert (expected in reasons) if expected else reasons == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://www.x.example/a.pdf", "https://x.example/a.pdf"),
        ("https://x.example/10.1%2F2.pdf", "https://x.example/10.1/2.pdf"),
        ("https://x.example/a.pdf;jsessionid=1", "https://x.example/a.pdf"),
        ("https://x.example/a.pdf?sequence=1&isAllowed=y", "https://x.example/a.pdf"),
    ],
)
def test_two_addresses_of_one_file(one, other):
    assert urls.twin_key(one) == urls.twin_key(other)


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        ("a.pdf", "http://x.example/d/a.pdf"),
        ("../a.pdf", "http://x.example/a.pdf"),
        ("/a b.pdf", "http://x.example/a%20b.pdf"),
        ("/a%20b.pdf", "http://x.example/a%20b.pdf"),
        ("/é.pdf?q=é", "http://x.example/%C3%A9.pdf?q=%C3%A9"),
        ("//y.example/a", "http://y.example/a"),
        ("http:\\\\y.example\\a", "http://y.example/a"),
        ("\u00a0/a.pdf#page=2 ", "http://x.example/a.pdf"),
        ("?id=1", "http://x.example/d/p?id=1"),
        ("#top", None),
        ("", None),
        ("mailto:a@b.example", None),
        ("JavaScript:void(0)", None),
        ("ftp://y.example/a", None),
        ("http://", None),
        ("http://[::1", None),
        ("http://y.example:99999/", None),
    ],
)
def test_hrefs_are_read_as_browsers_do(href, expected):
    assert urls.absolute(href, "http://x.example/d/p") == expected


def test_longer_phrases_hide_the_words_in_them():
    assert set(words.of_text("Graphical abstract")) == {"says-part"}
    assert set(words.of_text("Full text PDF")) == {"says-full-text", "says-pdf"}
    assert set(words.of_text("Author instructions (PDF)")) == {"says-business", "says-pdf"}
    assert set(words.of_text("Slow ice and the current account")) == set()
    assert set(words.of_text("Your account")) == {"says-business"}


def test_a_page_leaves_out_itself_but_for_the_scheme_only():
    page = Page("http://x.example/a?b=1", b"<a href='https://x.example/a?b=1'></a><a href='?b=2'>")
    assert [urlsplit(c.url).query for c in find(page)] == ["b=2"]


CITED = b'<meta name="citation_pdf_url" content="/x.pdf">'


@pytest.mark.parametrize(
    ("body", "url"),
    [
        (CITED, "http://a.example/x.pdf"),
        (b'<base href="http://b.example/">' + CITED, "http://b.example/x.pdf"),
        (CITED + b'<base href="http://b.example/">', None),  # only a whole look would tell
        (b"<!-- " + CITED + b" -->", None),
        (b"<script>'" + CITED + b"'</script>", None),
        (b"<title>" + CITED + b"</title>", None),
        (b"\xef\xbb\xbf" + CITED, "http://a.example/x.pdf"),
        (b"x" * 70_000 + CITED, None),
        (b"<meta content='/x.pdf' name='citation_pdf_url'><a>", "http://a.example/x.pdf"),
        (b'<meta name="citation_title" content="1 < 2">' + CITED, "http://a.example/x.pdf"),
        (b"no metas", None),
    ],
)
def test_a_first_look_sees_what_a_whole_look_puts_first(body, url):
    page = Page(url="http://a.example/abs/1", body=b"<html><head>" + body)
    assert [c.url for c in sure(page)] == ([url] if url else [])
    if url:
        assert find(page)[0].url == url


@pytest.mark.parametrize("piece", [b"<!--", b"<meta", b"<meta '", b'<meta "', b"<script>", b"<"])
def test_a_first_look_is_linear(piece):
    page = Page(url="http://a.example/", body=piece * (60_000 // len(piece)) + CITED)
    assert len(sure(page)) <= 1
