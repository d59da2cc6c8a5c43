"""What is seen inside of futs: the front of a PDF against the titles of its paper."""

import subprocess
import sys
from pathlib import Path

import pytest

from lafka.papers.finders import Page, headings_of, titles_of
from lafka.papers.finders.inside import Front, Line, Sheet, cleaned, evidence
from lafka.papers.finders.kinds import PageKind
from tests import suites

ROOT = Path(__file__).parents[3]
TITLE = "The wages of copyists in the valley of the slow glaciers"
PROSE = (
    "In this study we look at the people of a valley, and at what they are paid for their work",
    "by the houses that it is done for, which is a question that has been with us for long.",
) * 6


def sheet(*lines, size=(595, 842), top=17):
    """A page whose first line stands in larger letters."""
    heights = (top, *[10] * (len(lines) - 1))
    return Sheet(
        width=size[0], height=size[1],
        lines=tuple(Line(text=t, height=h) for t, h in zip(lines, heights, strict=True)),
    )  # fmt: skip


def seen(*lines, titles=(TITLE,), count=12, **options):
    return evidence(Front(sheets=(sheet(*lines, **options),), count=count), titles)


TITLES = (
    (TITLE,),
    (TITLE.upper(),),
    (f"{TITLE}*",),
    ("The wages of copyists in the val-", "ley of the slow glaciers1"),
    ("T h e wages of copyists in the valley", "of the slow gla\ufb01ers".replace("\ufb01", "ci")),
    (f"Title: {TITLE}",),
    (f"12. {TITLE}",),
    ("The wages of copyists in the valley of the slow glac\u0131ers",),
)


@pytest.mark.parametrize("title", TITLES)
def test_a_title_is_seen_however_it_is_set(title):
    assert seen(*title, "A. Quill", *PROSE) == "title"


def test_of_a_short_pdf_the_title_says_nothing():
    assert seen(TITLE, *PROSE, count=2) == ""


@pytest.mark.parametrize(
    ("title", "said"),
    [
        ("Trade &amp; <i>growth</i> of towns", "Trade and Growth of Towns"),
        ("Vellum: a history of the book trade", "Vellum: A History of the Book Trade"),
        ("L'épargne des ménages\u2026", "L'e\u0301pargne des me\u0301nages et la crise"),
        ("财政分权与地方政府", "财政分权与地方政府"),
        ("Über die Größe der Städte", "UEBER DIE GROESSE DER STAEDTE"),
    ],
)
def test_a_title_is_the_same_in_another_spelling(title, said):
    assert seen(said, *PROSE, titles=(title,)) == "title"


@pytest.mark.parametrize(
    "lines",
    [
        ("Trade in vellum and what came of it in the north", *PROSE),
        ("Trade in vellum and what came of it", f"{TITLE} (Smith 2010).", *PROSE),
        (f"Comment on {TITLE}", *PROSE),
        ("Erratum to:", TITLE, *PROSE),
        ("Contents", "Editorial ..... 1", TITLE, "A. Quill ..... 3", *PROSE),
    ],
)
def test_another_paper_is_told(lines):
    assert seen(*lines) == "another"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("Curriculum Vitae", "A. Quill", f"{TITLE}, Journal of Ice, 2019"), "cv"),
        (("A. Quill", "Education", "Employment", "Publications", TITLE, "Teaching"), "cv"),
        (("A. Quill", "E DUCATION", "MA, 2007", "H ONORS & G RANTS", "WORKS IN PROGRESS",
          "P ROFESSIONAL & R ESEARCH E XPERIENCE", TITLE, "Selected Invited Talks"), "cv"),
        (("A. Quill", "Education Ph.D., Economics, University of Ice", "M.A., Economics",
          f"Working Papers {TITLE}"), "cv"),
        (("A. Quill", "EDUCATION", "Ph.D., 2011, M.A., 2007", "JOB MARKET PAPER", TITLE,
          "Abstract: We look", *PROSE, "TEACHING EXPERIENCE", "SKILLS"), "cv"),
        (("August 2026", "Ice Forum", "Inside this Issue", "Editorial", TITLE, *PROSE), "another"),
        (("Copyright transfer form", "Please complete this form.", f"Title: {TITLE}",
          "Name: ________", "Address: ________", "Signature: ________", "Date: ________"), "form"),
        ((TITLE, *(f"{hour}:30 - {hour + 1}:00 A. Quill" for hour in range(9, 18))), "schedule"),
        (("Online Appendix for", TITLE, *PROSE), "supplement"),
        ((f"On-line Appendix: {TITLE}", *PROSE), "supplement"),
        ((TITLE, "In the format provided by the", "authors and unedited", *PROSE), "supplement"),
        (("Supplementary Material", TITLE, *PROSE), "supplement"),
    ],
)  # fmt: skip
def test_what_is_no_paper_is_told_though_it_bears_the_title(lines, said):
    assert seen(*lines) == said


def test_a_poster_is_one_large_page():
    lines = (TITLE, "A. Quill", "Motivation", *PROSE)
    assert seen(*lines, size=(2384, 3370), count=1) == "poster"
    assert seen(*lines, size=(1684, 2384), count=13) == "title"


TABLE = ("Education", "Work experience", "Languages", "Training", "Employment")


@pytest.mark.parametrize("text", [("Abstract", *PROSE), ("1 Introduction", *PROSE)])
def test_a_paper_with_the_words_of_a_cv_is_none(text):
    assert seen(TITLE, "A. Quill", *text, *TABLE) == "title"
    assert seen(TITLE, "A. Quill", "R\u00e9sum\u00e9", *PROSE) == "title"


def test_one_page_of_a_few_words_is_no_paper_but_where_it_may_be_a_scan():
    said = ("Currently in development",)
    assert seen(*said, count=1) == "fragment"
    assert seen(*said, count=2) == seen("", count=1) == ""
    scan = Front(sheets=(sheet("Received 12 May"),), count=1, pictured=True)
    assert evidence(scan, [TITLE]) == ""


def headed(*lines, count=12, titles=(), headings=(TITLE,)):
    return evidence(Front(sheets=(sheet(*lines),), count=count), titles, headings)


@pytest.mark.parametrize("begins", ["Abstract. We look", "Keywords: ice", "1 Introduction", "摘要"])
def test_a_heading_over_the_text_of_a_paper_is_its_title(begins):
    assert headed(TITLE, "A. Quill", begins, *PROSE) == "title"


@pytest.mark.parametrize(
    "lines",
    [
        (TITLE, "A. Quill", *PROSE),  # nothing says that a text begins
        ("Trade in vellum", "Abstract", TITLE, *PROSE),
        ("Abstract", TITLE, *PROSE),
        ("Trade in vellum and what came of it in the north", "Abstract", *PROSE),
    ],
)
def test_elsewhere_a_heading_says_nothing(lines):
    assert headed(*lines) == ""


def test_a_heading_with_the_name_of_an_author_says_nothing():
    name = "Maria Jose Garcia Lopez"
    assert headed("Trade in vellum", name, "Abstract", *PROSE, headings=(name,)) == ""


def test_neither_does_one_of_a_house_nor_over_a_short_pdf_nor_where_a_title_says_more():
    house = "Working papers of the Institute for the study of ice"
    assert headed(house, "Trade in vellum", "Abstract", *PROSE, headings=(house,)) == ""
    assert headed(TITLE, "Abstract", *PROSE, count=2) == ""
    other = ("Trade in vellum and what came of it in the north", "Abstract", *PROSE)
    assert headed(*other, titles=(TITLE,), headings=(other[0],)) == "another"


def test_two_pages_of_a_report_side_by_side_are_no_slides():
    assert seen(TITLE, "A review", size=(1190, 808), top=60) == "title"
    assert seen(TITLE, "A review", size=(1440, 1080), top=60) == "slides"
    assert seen(TITLE, "A review", size=(1920, 1080), top=60) == "slides"


def test_slides_lie_on_their_side_in_large_letters():
    lines = (TITLE, "A. Quill", "Motivation", "Wages are low", "Glaciers are slow")
    assert seen(*lines, size=(363, 272), top=14) == "slides"
    assert seen(*lines, *PROSE * 4, size=(842, 595)) == "title"
    assert seen(*lines, *PROSE * 4, size=(454, 255)) == "slides"


COVER = ("Stable URL: https://x.example/1", "JSTOR is a not-for-profit service",
         "Your use of the JSTOR archive indicates your acceptance of its terms of use")  # fmt: skip


def test_a_cover_sheet_is_no_paper_but_where_one_is_behind_it():
    assert seen(TITLE, *COVER, count=1) == "cover"
    both = Front(sheets=(sheet(TITLE, *COVER), sheet(TITLE, *PROSE)), count=20)
    assert evidence(both, [TITLE]) == "title"


GERMAN = ("Wir sehen, dass die Leute in dem Tal nicht von dem leben, was sie tun.",) * 5


@pytest.mark.parametrize(
    "lines",
    [
        ("",),
        ("Received 12 May",),  # a stamp on a scan
        ("\x03\x04 \x05\x06\x07 \x08\x0e\x0f \x10\x11\x12" * 9,),
        ("Die Löhne der Schreiber im Tal der langsamen Gletscher", *GERMAN),
        ("Low pay: copyists and their wages in the slow valley", *PROSE),
    ],
)  # fmt: skip
def test_what_may_be_the_paper_is_not_denied(lines):
    assert seen(*lines) == ""


def test_without_a_title_only_what_is_no_paper_is_told():
    assert seen("Trade in vellum", *PROSE, titles=()) == ""
    assert seen("Curriculum Vitae", *PROSE, titles=()) == "cv"


def test_a_paper_on_such_things_is_none_of_them():
    title = "The curriculum vitae as a source of research data"
    assert seen(title, *PROSE, titles=(title,)) == "title"


@pytest.mark.parametrize(
    ("title", "headings", "titles", "perhaps"),
    [
        (f"{TITLE} | A. Quill", (TITLE,), (TITLE,), (TITLE,)),
        (f"{TITLE} | Slow valleys and their ice", ("Slow valleys and their ice",), (), (TITLE,)),
        ("A Journal on Ice and Vellum", ("A Journal on Ice and Vellum",), (), ()),
        ("index - A. Quill", ("A. Quill", TITLE), (), (TITLE,)),
        ("Master Thesis on Slow Ice", ("Master Thesis on Slow Ice",), (), ()),
    ],
)
def test_what_a_page_calls_its_paper_surely_and_perhaps(title, headings, titles, perhaps):
    body = f"<title>{title}</title>" + "".join(f"<h1>{text}</h1>" for text in headings)
    page = Page("https://x.example/a/5512", body.encode())
    assert titles_of(page, PageKind.PAPER) == titles
    assert set(perhaps) <= set(headings_of(page, PageKind.PAPER))
    assert headings_of(page, PageKind.LIST) == titles_of(page, PageKind.LIST) == ()


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("summary-and-minutes-of-ice/2024/may", ("summary and minutes of ice",)),
        ("news/2024/may", ()),
        ("article/s13415-013-0181-7", ()),
        ("papers/on-the-slow-ice.html", ("on the slow ice",)),
    ],
)
def test_an_address_of_four_words_is_a_title_too(path, named):
    page = Page(f"https://x.example/{path}", f"<title>{TITLE}</title><h1>{TITLE}</h1>".encode())
    assert titles_of(page, PageKind.PAPER) == (TITLE, *named)


def test_a_title_is_cleaned():
    assert cleaned("The ice of 1850 (2026)") == "The ice of 1850"
    assert cleaned(" A &amp;amp; <sub>B</sub>  of  x\u2026 ") == "A & B of x"


@pytest.mark.draws("of the pairs")
def test_pairs_of_titles_and_made_pdfs_are_judged_rightly():
    pytest.importorskip("pypdfium2")
    command = [
        sys.executable,
        ROOT / "benchmarks" / "insides.py",
        "--every",
        suites.amount(21, 7),
        "--pairs",
    ]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    assert " right: 0 judged wrongly" in done.stdout, done.stdout + done.stderr
