"""What is believed of a link by its words, by the kind of its page, and how likely it is."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from lafka.papers.finders import Page, find, kind_of, sure
from lafka.papers.finders.belief import features, probability
from lafka.papers.finders.kinds import PageKind

BUTTONS = (Path(__file__).parent / "buttons.txt").read_text(encoding="utf-8").splitlines()
# Words of economics that shops and rules use as well, in titles of our own.
TITLES = (
    "Monetary policy and the price of rent",
    "Who buys on account? Terms of trade in a statement economy",
    "The order of things: a register of copyright licences",
    "Sharing a table: references, figures and video in the cart",
    "Rent policy",
    "Optimal cookie pricing: a code of conduct",
    "Summary statistics of help and contact",
)
SERIES = (
    "Policy Research Working Paper 123", "Staff Report No. 45", "Temi di discussione N. 1201",
    "Documento de trabajo 17", "Arbeitspapier Nr. 8", "Diskussionspapier 99", "Draft",
    "Latest draft", "Policy Brief 12", "Cahier de recherche 2004-07", "Acme Bulletin No. 3",
)  # fmt: skip
FORMS = ("{}", "{} (PDF)", "{} [pdf]", "Download {} (PDF, 120 kB)")


def candidates(text, title="Slow glaciers and quick rivers", url="https://x.example/wp/a.html"):
    body = f"<title>{title} | University of X</title><h1>{title}</h1><a href=/f/zz.pdf>{text}</a>"
    return find(Page(url, body.encode(), "text/html; charset=utf-8"))


@pytest.mark.parametrize(("form", "title"), [*product(FORMS, TITLES)])
def test_a_title_is_believed_whatever_its_words(form, title):
    found = candidates(form.format(title), title)
    assert (found[0].label, found[0].promising) == ("fut", True), found


@pytest.mark.parametrize(("form", "series"), [*product(FORMS, SERIES)])
def test_a_paper_named_by_its_series_is_believed(form, series):
    assert candidates(form.format(series))[0].label == "fut"


@pytest.mark.parametrize("form", FORMS[:3])
def test_buttons_of_a_site_are_refused(form):
    believed = [b for b in BUTTONS if candidates(form.format(b))[0].label == "fut"]
    assert len(BUTTONS) >= 200
    assert believed == []


PLAIN = "<h1>Slow glaciers and quick rivers</h1>"
KINDS = {
    "one paper": ("/wp/5512", PLAIN),
    "not clear": ("/about/5512", PLAIN),
    "list": ("/wp/", "<h1>Working papers</h1>"),
    "issue": ("/a/3", "<h1>Volume 12, Issue 3</h1>"),
    "search": ("/search?q=ice", "<h1>Found</h1>"),
    "home": ("/~quill/", "<h1>Ada Quill</h1>"),
    "submission": ("/about/submissions", "<h1>Submissions</h1>"),
    "dataset": ("/d/1", "<h1>Data from: Slow glaciers and quick rivers</h1>"),
    "post": ("/blog/2020/ice", PLAIN),
    "not there": ("/wp/5512", "<title>404 Not Found</title>"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_without_a_paper_gives_no_fut_without_a_sign(kind):
    path, body = KINDS[kind]
    body += "<p>Text.</p><p><a href=/f/zz.pdf>Download PDF</a></p>"
    page = Page(f"https://x.example{path}", body.encode())
    found = find(page)
    assert kind_of(page, found) == kind
    assert (found[0].label, found[0].promising) == (
        ("fut", True) if kind == "one paper" else ("other", False)
    )


OF_NO_PAPER = (
    ("home", "/quill/vita", "<title>Ada Quill | Vita</title><h1>Ada Quill</h1>"),
    ("submission", "/kurallar", "<h1>Yazım Kuralları</h1><p>Öz ve anahtar kelimeler.</p>"),
    ("submission", "/r", "<h1>Der Beitrag</h1><p>Zusammenfassung: höchstens 200 Wörter.</p>"),
    ("submission", "/normas", "<title>Revista</title><h2>Normas para autores</h2><p>Resumen.</p>"),
    ("issue", "/heft/2019-3", "<h1>Winter</h1>"),
    ("post", "/kongress", "<h1>Annual Conference of Ice 2024</h1>"),
    ("post", "/ice", "<h1>The 4th Northern Conference of Ice, Rope and Ink</h1><p>Abstract</p>"),
    ("post", "/courses/ice-2020", "<h1>Ice</h1><p>Taught by Ada Quill.</p>"),
)


@pytest.mark.parametrize(("kind", "path", "body"), OF_NO_PAPER)
@pytest.mark.parametrize("name", ["zz", "ice-2020", "2019-3-1"])
def test_no_word_or_number_of_its_address_makes_a_file_of_such_a_page_a_fut(kind, path, body, name):
    body += f"<p>Text.</p><p><a href=/f/{name}.pdf>Download PDF</a></p>"
    page = Page(f"https://x.example{path}", body.encode(), "text/html; charset=utf-8")
    found = find(page)
    assert (kind_of(page, found), found[0].label) == (kind, "other")


@pytest.mark.parametrize(
    ("text", "heading"), [("Deposit guide (PDF)", ""), ("Bridges before banks", "Related")]
)
def test_the_only_file_of_a_paper_is_not_believed_under_another_name(text, heading):
    body = f"{PLAIN}<p>Abstract</p><h2>{heading}</h2><p><a href=/f/zz.pdf>{text}</a></p>"
    assert find(Page("https://x.example/wp/a.html", body.encode()))[0].label == "other"


METAS = "<meta name=citation_title content='Slow glaciers and quick rivers'>"
OF_ANOTHER = (
    "<a href=/f/zz.pdf>Certificate of indexing</a>",
    "<a href=/f/zz.pdf>Discussion by Ada Quill</a>",
    "<a href=/f/rate-card-2011.pdf>2011</a>",
    "<a href=/f/deposit_agreement.pdf>deposit_agreement.pdf</a>",
)


@pytest.mark.parametrize("metas", ["", METAS])
@pytest.mark.parametrize("links", OF_ANOTHER)
def test_no_file_of_another_name_is_believed_on_a_page_of_one_paper(metas, links):
    body = f"{metas}{PLAIN}<p>Abstract</p>{links}"
    found = find(Page("https://x.example/wp/a.html", body.encode()))
    assert "fut" not in {c.label for c in found}


BUTTONS_OF_A_PAPER = (
    "Makalenin tamamı", "Скачать статью", "PDF下载", "Pobierz plik", "دریافت", "Link", "[link]",
    "Read", "Report", "Open", "Lire", "SSRN version", "NBER version", "Author copy",
    "Extended version", "Version of record", "Draft, March 2019", "PDF (juin 2020)",
)  # fmt: skip


@pytest.mark.parametrize("text", BUTTONS_OF_A_PAPER)
def test_a_button_in_any_language_has_no_name_of_its_own(text):
    body = f"{PLAIN}<p>Abstract</p><a href=/f/zz.pdf>{text}</a><a href=/f/yy.pdf>Floor plan</a>"
    page = Page("https://x.example/wp/a.html", body.encode(), "text/html; charset=utf-8")
    assert [c.url[-6:] for c in find(page) if c.label == "fut"] == ["zz.pdf"]


def test_headings_of_its_parts_make_a_list():
    parts = "<h2>Working papers</h2><p>Ice</p><h2>Publications</h2><p>Rope</p>"
    page = Page("https://x.example/x/quill", f"<h1>Ice</h1><p>Abstract</p>{parts}".encode())
    assert kind_of(page) == "list"


def test_a_part_of_the_title_that_the_address_spells_is_the_papers():
    body = (
        "<title>Slow Rivers - Ada Quill of the North</title><h1>Job market paper</h1>"
        "<a href=/f/zz.pdf>Slow Rivers: Ice and Trade</a><a href=/f/cv.pdf>CV</a>"
    )
    found = find(Page("https://x.example/research/slow-rivers/", body.encode()))
    assert (found[0].url[-6:], found[0].label) == ("zz.pdf", "fut")


@pytest.mark.parametrize("text", ["Academic publication", "March 2019", "US Letter", "Compressed"])
def test_what_only_says_what_a_file_is_names_no_other(text):
    body = f"{PLAIN}<p>Abstract</p><a href=/f/zz.pdf>{text}</a>"
    assert find(Page("https://x.example/wp/a.html", body.encode()))[0].label == "fut"


def test_the_file_of_a_themes_example_is_not_the_papers():
    left = "<a href=http://repo.example.ac.uk/352095/1/Cushen-IMV2013.pdf>Preprint PDF</a>"
    body = f"{METAS}{PLAIN}<p>Abstract</p>{left}"
    assert find(Page("https://x.example/publication/ice/", body.encode()))[0].label == "other"


def test_chapters_are_no_further_files_of_the_whole_they_are_named_for():
    files = "".join(f"<p><a href=/f/QuillThesis{n}.pdf>PDF</a></p>" for n in ("", "Ch1", "Ch2"))
    found = find(Page("https://x.example/thesis/ice", f"{PLAIN}{files}".encode()))
    assert [c.url[-15:] for c in found if c.promising] == ["QuillThesis.pdf"]


@pytest.mark.parametrize("address", ["tag/ice/", "tags/ice/index.html", "post/page/1/index.html"])
def test_a_sites_section_is_a_list_under_any_of_its_addresses(address):
    body = "<h1>Ice</h1><h2>Slow glaciers and quick rivers</h2><p>Abstract</p>"
    found = find(Page(f"https://x.example/{address}", f"{body}<a href=/z.pdf>PDF</a>".encode()))
    assert {c.label for c in found} == {"other"}


UNTITLED = (
    "",
    "<h1>Job market paper</h1>",
    "<h2>Working papers</h2>",
)


@pytest.mark.parametrize("heading", UNTITLED)
@pytest.mark.parametrize("most", [60, 200])
def test_a_text_is_the_title_where_headings_name_its_series_alone(heading, most):
    text = "Slow glaciers, quick rivers and all the deep valleys between them " * 3
    body = f"<title>Ice</title>{heading}<p><a href=/f/zz.pdf>{text[:most]}</a></p><p>Abstract</p>"
    assert find(Page("https://x.example/wp/a.html", body.encode()))[0].label == "fut"


def test_a_text_has_a_name_of_its_own_where_a_heading_has_one():
    body = "<title>Ice</title><h1>Glaciers</h1><a href=/f/zz.pdf>Floor plan of the old house</a>"
    found = find(Page("https://x.example/wp/a.html", f"{body}<p>Abstract</p>".encode()))
    assert found[0].label == "other"


def test_a_viewer_is_no_rival_of_the_file_that_it_leads_to():
    body = f"{PLAIN}<p>Abstract</p><a class=pdf href=/j/article/view/77/80>PDF</a>"
    found = find(Page("https://x.example/j/article/view/77", body.encode()))
    assert found[0].url == "https://x.example/j/article/download/77/80"
    assert (found[0].label, found[0].promising) == ("fut", True)


def test_a_paper_whose_references_are_files_is_no_list():
    cited = (f"<li>Roe, C.: Rivers, rafts and {n} ports <a href=/c/{n}.pdf>PDF</a>" for n in "abcd")
    body = f"{PLAIN}<p><a href=/x/4375.pdf>PDF</a></p><ol>{''.join(cited)}</ol>"
    page = Page("https://x.example/x/4375", body.encode())
    found = find(page)
    assert (found[0].url, found[0].label) == ("https://x.example/x/4375.pdf", "fut")
    assert kind_of(page, found) != "list"


@pytest.mark.parametrize("text", ["Read the full study (PDF)", "Slow glaciers and quick rivers"])
def test_a_page_that_may_be_of_no_paper_gives_a_fut_with_a_sign(text):
    found = candidates(text, url="https://x.example/about/5512")
    assert (found[0].label, found[0].promising) == ("fut", True)


def test_the_metas_of_a_paper_say_what_a_page_is():
    page = Page("https://x.example/search?q=1", b"<meta name=citation_title content=Ice>")
    assert kind_of(page) == "one paper"


def test_the_worse_of_two_links_to_a_file_is_not_forgotten():
    body = f"{PLAIN}<a href=/f/zz.pdf>PDF</a> <a href=/f/zz.pdf>Curriculum vitae</a>"
    assert find(Page("https://x.example/wp/a.html", body.encode()))[0].label == "other"


@pytest.mark.parametrize("name", ["Quill_Ada_CV_latest", "vita", "adaquillcv", "lebenslauf-2020"])
def test_a_curriculum_vitae_is_told_by_its_name(name):
    body = f"<title>Ada Quill - Research</title><a href=/f/{name}.pdf>Download</a>"
    found = find(Page("https://x.example/view/research", body.encode()))
    assert (found[0].label, found[0].promising) == ("other", False)


def test_the_only_file_of_a_paper_is_believed_under_any_heading():
    body = f"{PLAIN}<p>Abstract</p><h2>References</h2><p><a href=/f/zz.pdf>Download</a></p>"
    found = find(Page("https://x.example/wp/a.html", body.encode()))
    assert (found[0].label, found[0].promising) == ("fut", True)


ENTRIES = {
    "issue": "<article><div><h3>{}</h3><div><p><a href=/p/{}.pdf>PDF</a></p></div></div></article>",
    "search": "<li><h2>{}</h2><p>Quill</p><div><span><a href=/p/{}.pdf>PDF</a></span></div></li>",
    "flat": "<h5>{}</h5><p>Ada Quill</p><p><a href=/p/{}.pdf>PDF 300 K</a></p>",
}


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_a_list_is_seen_by_the_titles_before_its_files(entry):
    titles = [f"Slow glaciers, quick rivers and {w} valleys" for w in ("dry", "deep", "old", "new")]
    body = "".join(entry.format(title, chr(97 + n) * 3) for n, title in enumerate(titles))
    page = Page("https://x.example/x/12.html", body.encode())
    found = find(page)
    assert kind_of(page, found) == "list"
    assert {(c.label, c.promising) for c in found} == {("other", False)}


def test_a_list_is_seen_where_titles_have_no_blanks():
    titles = (
        "地方交付税と自治体の歳出行動",
        "介護保険料の地域差の要因分析",
        "固定資産税の評価誤差について",
    )
    rows = "".join(f"<li>「{t}」<a href=pdf/{n}.pdf>[PDF]</a></li>" for n, t in enumerate(titles))
    page = Page("https://x.example/tanaka/gyoseki.html", f"<h1>論文</h1><ol>{rows}</ol>".encode())
    found = find(page)
    assert kind_of(page, found) == "list"
    assert {(c.label, c.promising) for c in found} == {("other", False)}


def thesis(*names):
    """The files of a thesis by their names, and what is believed of them, likeliest first."""
    rows = "".join(
        f"<tr><td>PDF</td><td><a href=/17/{n}/{name}>Download (9 kB)</a></td></tr>"
        for n, name in enumerate(names)
    )
    body = f"<meta name=citation_title content='Slow glaciers'>{PLAIN}<table>{rows}</table>"
    found = find(Page("https://x.example/17/", body.encode()))
    return [(c.url.rpartition("/")[2], c.label) for c in found]


def test_names_of_files_tell_the_parts_of_a_thesis_from_the_whole():
    found = thesis("APPROVAL_SHEET.pdf", "BAB_I.pdf", "chapter-2.pdf", "Thesis_full_text.pdf")
    assert found[0] == ("Thesis_full_text.pdf", "fut")
    assert {label for _, label in found[1:]} == {"other"}


def test_a_chapter_is_believed_where_no_file_is_the_whole():
    assert ("chapter-2.pdf", "fut") in thesis("chapter-2.pdf", "press-release.pdf")
    assert ("approval_voting.pdf", "fut") in thesis("approval_voting.pdf")


def test_a_query_that_asks_for_the_full_text_leads_to_a_file():
    body = f"{PLAIN}<p>Abstract</p><a href='/getFT?paperid=1187&what=fullt'>PDF file</a>"
    body += "<a href='/getFT?paperid=1187&what=reflist'>References</a>"
    found = find(Page("https://x.example/archive?paperid=1187", body.encode()))
    assert (found[0].url.rpartition("=")[2], found[0].label) == ("fullt", "fut")


def test_a_viewer_at_the_end_of_a_path_is_stepped_over():
    body = f"{PLAIN}<a href=/doi/10.1234/ice.5512/epdf>PDF</a>"
    found = find(Page("https://x.example/doi/10.1234/ice.5512", body.encode()))
    assert found[0].url == "https://x.example/doi/10.1234/ice.5512/pdf"


def test_a_first_look_thinks_it_as_likely_as_a_whole_look():
    page = Page("https://x.example/a", b'<meta name="citation_pdf_url" content="/f/zz.pdf">')
    assert sure(page)[0].probability == find(page)[0].probability


def test_more_for_it_is_more_likely():
    found = candidates("Download PDF")[0]
    values = features(found, rival=0.0, kind=PageKind.PAPER)
    assert probability(values) > probability({**values, "unowned": 1.0})
    assert probability(values) > probability({**values, "lead": -4.0})


def test_the_title_that_a_list_gives_tells_the_row():
    titles = [f"Slow glaciers, quick rivers and {w} valleys" for w in ("dry", "deep", "old", "new")]
    rows = (f"<li>{t}, Quill <a href={chr(97 + n) * 3}.pdf>PDF</a>" for n, t in enumerate(titles))
    body = f"<h1>Working papers</h1><ul>{''.join(rows)}</ul>".encode()
    page = Page("https://x.example/wp/", body, titles=(titles[2],))
    found = find(page)
    assert [c.url for c in found if c.label == "fut"] == ["https://x.example/wp/ccc.pdf"]
    assert found[0].promising


LABELLED = {
    "<table><tr><td>Tam Metin</td><td><a href=/f/a1.pdf>Görüntüle</a></td></tr></table>": "fut",
    "<p>See also our companion note <a href=/f/a1.pdf>(pdf)</a></p>": "other",
    "<p>Obras relacionadas:</p><ul><li><a href=/f/a1.pdf>PDF</a></li></ul>": "other",
    "<p><b>Related:</b> <a href=/f/a1.pdf>PDF</a></p>": "other",
    "<ul><li><a href=/wp/7.html>Fair trade</a> <a href=/f/a1.pdf>PDF</a></li></ul>": "other",
    "<ul><li><a href=/people/7.html>Ada Quill</a> <a href=/f/a1.pdf>PDF</a></li></ul>": "fut",
    "<h3>Buy this article</h3><p><a href=/f/a1.pdf>Tarifs 2024 (PDF)</a></p>": "other",
    "<h3>Buy this article</h3><p><a href=/f/a1.pdf>PDF</a></p>": "other",
}


@pytest.mark.parametrize(("block", "label"), LABELLED.items())
def test_what_stands_before_a_link_says_whose_file_it_is(block, label):
    """A second file, so that none is the only one that the page offers."""
    body = f"<meta name=citation_title content='Slow glaciers'><h1>Slow glaciers</h1>{block}"
    body += "<p><a href=/f/b2.pdf>Flyer</a></p>"
    page = Page("https://x.example/wp/a.html", body.encode(), "text/html; charset=utf-8")
    (found,) = [c for c in find(page) if c.url.endswith("a1.pdf")]
    assert found.label == label, found


@pytest.mark.parametrize(("whole", "label"), [("Complete thesis", "other"), ("Flyer", "fut")])
def test_a_chapter_is_no_full_text_where_the_whole_work_is_there(whole, label):
    body = (
        "<meta name=citation_title content='Slow glaciers'><h1>Slow glaciers</h1>"
        f"<ul><li><a href=/thesis/5512/all.pdf>{whole}</a></li>"
        "<li><a href=/thesis/5512/c1.pdf>Chapter 1</a></li>"
        "<li><a href=/thesis/5512/c2.pdf>Chapter 2</a></li></ul>"
    )
    found = find(Page("https://x.example/thesis/5512", body.encode(), "text/html"))
    assert {c.label for c in found if "/c" in c.url} == {label}, found


@pytest.mark.parametrize("text", ["뷰어 설치", "取扱説明", "编辑手册"])
def test_a_guide_named_in_cjk_is_not_the_only_file(text):
    body = f"<meta name=citation_title content='Slow glaciers'><a href=/guide/v.pdf>{text}</a>"
    page = Page("https://x.example/a/1", body.encode(), "text/html; charset=utf-8")
    assert find(page)[0].label == "other"


def believed(body, url="https://x.example/a/b/slow-glaciers"):
    """The names of the files that are called the fut, likeliest first, and the kind of the page."""
    title = "Slow glaciers and quick rivers"
    whole = f"<title>{title} | Ice Institute</title><h1>{title}</h1>{body}"
    page = Page(url, whole.encode(), "text/html; charset=utf-8")
    found = find(page)
    return [c.url.rpartition("/")[2] for c in found if c.label == "fut"], kind_of(page, found)


CV = "<nav><a href=/cv.pdf>CV</a></nav>"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (f"{CV}<a href=/f/z.pdf>Download the document</a>", "one paper"),
        (f"{CV}<a href=/f/z.pdf>Published version</a> <a href=/f/q.pdf>Slides</a>", "one paper"),
        (f"{CV}<a href=/f/z.pdf>Download the voucher for cement</a>", "home"),
        ("<a href=/f/z.pdf>Download the voucher for cement</a>", "not clear"),
        ("".join(f"<p><a href=/f/{n}/z.pdf>Get PDF</a></p>" for n in range(4)), "not clear"),
    ],
)
def test_a_page_with_a_title_and_a_button_without_a_name_is_of_one_paper(body, kind):
    assert believed(body) == (["z.pdf"] if kind == "one paper" else [], kind)


@pytest.mark.parametrize("heading", ["Prof. Dr. Ada Jane Quill", "Glaciers"])
def test_a_name_or_a_word_over_a_button_makes_no_paper(heading):
    body = f"<title>{heading}</title><h1>{heading}</h1><a href=/f/z.pdf>Download PDF</a>"
    page = Page("https://x.example/a/b", body.encode())
    assert [c.url for c in find(page) if c.label == "fut"] == []


@pytest.mark.parametrize(
    ("sentence", "names"),
    [
        ("Read the current draft <a href=/f/z.pdf>here</a>.", ["z.pdf"]),
        ("By Ada Quill. The questionnaire is <a href=/f/z.pdf>here</a>.", []),
        ("<a href=/f/z.pdf>Here</a> is the questionnaire. By Ada Quill", []),
    ],
)
def test_a_link_that_says_here_is_told_by_its_sentence(sentence, names):
    assert believed(f"<p>{sentence}</p>")[0] == names


@pytest.mark.parametrize(
    "said",
    [
        "The full text is not available online.", "This item is under embargo until 2031.",
        "Texto completo no disponible.", "Texte intégral non disponible.",
        "Der Volltext ist nicht zugänglich.", "本文は非公開です。",
    ],
)  # fmt: skip
def test_a_page_that_withholds_its_text_gives_no_fut_without_a_sign_of_its_own(said):
    file = "<p>Abstract: ice.</p><a href=/f/z.pdf>PDF</a>"
    assert believed(file)[0] == ["z.pdf"]
    assert believed(f"<p>{said}</p>{file}")[0] == []
    assert believed(f"<p>Abstract not available.</p>{file}")[0] == ["z.pdf"]
    own = "<a href=/f/z.pdf>Slow glaciers and quick rivers</a>"
    assert believed(f"<p>{said} Abstract.</p>{own}")[0] == ["z.pdf"]


def test_words_that_no_list_knows_make_a_button_where_no_other_file_is():
    paper = "<p>By Ada Quill. Abstract: ice.</p>"
    lone = "<a href=/f/z.pdf>Download zzstudie</a>"
    assert believed(paper + lone)[0] == ["z.pdf"]
    assert believed(f"{paper}{lone} <a href=/f/q.pdf>Download qqnote</a>")[0] == []
    assert believed(f"{paper}<a href=/f/z.pdf>Zzplan (PDF)</a>")[0] == []


def test_a_text_that_stands_beside_each_file_names_none():
    rows = "".join(f"<tr><td><a href=/f/{n}.pdf>Zzopen</a></td></tr>" for n in "ab")
    page = f"<p>Abstract. Keywords: ice.</p><h2>Files</h2><table>{rows}</table>"
    assert believed(page)[0][:1] == ["a.pdf"]


def test_files_named_for_their_page_are_versions_and_no_list():
    rows = "".join(
        f"<li><a href=levy_{n}.pdf>{n} as it was printed in that year</a></li>"
        for n in ("draft", "preprint", "article")
    )
    page = Page("https://x.example/a/b/levy.html", f"{PLAIN}<ul>{rows}</ul>".encode())
    assert kind_of(page, find(page)) != "list"


def test_what_two_links_to_a_file_call_it_counts_for_both():
    body = "<a href=/f/z.pdf>The preprint in print of ice</a><a href=/f/z.pdf>Download PDF</a>"
    found = find(Page("https://x.example/a", body.encode()))
    assert {"says-version", "says-download"} <= {*found[0].reasons}


@pytest.mark.parametrize(
    ("heading", "files", "kind"),
    [("Salt", ["_main.pdf"], "not clear"), ("Lecture 3", [], "post")],
)
def test_the_toolbar_of_a_book_gives_it_but_not_to_a_course(heading, files, kind):
    script = (
        """<script>gitbook.start({"toc": {}, "download": ["_main.epub", "_main.pdf"]})</script>"""
    )
    page = Page("https://x.example/b/", f"<h1>{heading}</h1>{script}".encode())
    found = find(page)
    assert [c.url.rpartition("/")[2] for c in found if c.label == "fut"] == files
    assert kind_of(page, found) == kind


def test_a_label_speaks_against_its_link():
    body = "<p>Abstract: ice.</p><p><a href=/f/z.pdf>PDF</a></p>"
    part = "<p>Non-technical summary: <a href=/f/q.pdf>Japanese (PDF)</a></p>"
    assert believed(body + part)[0] == ["z.pdf"]


def test_news_of_a_series_is_of_its_paper_and_news_under_papers_is_not():
    file = "<a href=/f/z.pdf>Report 2018</a>"
    for folder, kind in (("news/working-papers", "one paper"), ("papers/news", "post")):
        page = Page(f"https://x.example/{folder}/x", f"{PLAIN}{file}".encode())
        assert kind_of(page, find(page)) == kind


def test_a_year_in_an_address_is_no_number_of_a_paper():
    page = "https://x.example/research/dp/2019/dp2019-11.html"
    found = find(Page(page, f"{PLAIN}<a href=/jp/dp/19e011.pdf>PDF</a>".encode()))
    assert "other-identifier" not in found[0].reasons


def test_of_two_titles_in_a_list_the_one_that_goes_on_is_anothers():
    said = (
        "Grain prices and rural credit",
        "Grain prices and rural credit: the coast",
        "Wages of the old towns and ports",
    )
    rows = "".join(
        f"<li>{t}, by Ada Quill. <a href=/f/{n}.pdf>PDF</a></li>" for n, t in enumerate(said)
    )
    body = f"<h1>Papers</h1><ul>{rows}</ul>".encode()
    found = find(Page("https://x.example/list.html", body, titles=(said[0],)))
    assert [c.url for c in found if c.label == "fut"] == ["https://x.example/f/0.pdf"]


ENTRY = '<div class="paper"><p>{}</p><p>A. Quill, 2021 · <a href="{}">PDF</a></p></div>'
KNOWN = "Carts of the harbour towns of 1850"
UNSPACED = "村庄组织化程度能抑制农地抛荒行为吗？"
ALONE = f"""<h1>Ada Quill</h1><h2>Job market paper</h2><h3>{KNOWN}</h3><p>Job market paper</p>
    <p><a href="land.pdf">[paper]</a></p><h2>Work in progress</h2>"""
PAIR = f"""<h1>Ada Quill</h1><h3>{KNOWN}</h3><p>with B. Levy</p>
    <p>SSRN · <a href="land.pdf">PDF</a></p><h3>Crumbs on the tape of a grain market</h3>
    <p>with B. Levy</p><p>SSRN · <a href="tape.pdf">PDF</a></p>"""
ENTRIES = ENTRY.format(UNSPACED, "land.pdf") + ENTRY.format("民粹主义如何影响执政党", "trade.pdf")


@pytest.mark.parametrize(
    ("body", "title"), [(ALONE, KNOWN), (PAIR, KNOWN), (f"<h1>Papers</h1>{ENTRIES}", UNSPACED)]
)
def test_a_list_of_few_files_gives_the_one_whose_title_is_known(body, title):
    page = Page(
        "https://quill.example.org/publications.html",
        f"<meta charset=utf-8><body>{body}".encode(),
        titles=(title,),
    )
    called = [c.url for c in find(page) if c.label == "fut"]
    assert called == ["https://quill.example.org/land.pdf"]
    other = replace(page, titles=("Salt roads in the north of Hungary",))
    assert not any(c.label == "fut" for c in find(other))


ABSTRACT = "<h2>Abstract</h2><p>We measure the ice.</p>"
ROW = "<a href=/s/zz.pdf>Paper</a> <a href=https://c.example/q>Code</a> <a href=/v>Video</a>"


@pytest.mark.parametrize(
    ("path", "body", "fut"),
    [
        ("/a", "<a href=/content/123/get>Download</a>", "/content/123/get"),
        ("/a", "<a href=/zz.pdf>PDF</a> <a href=/zz.pdf>Slides</a>", "/zz.pdf"),
        ("/a", "<a href=/zz.pdf>Paper</a> <a href=/zz.pdf>Code</a>", "/zz.pdf"),
        ("/", ROW, "/s/zz.pdf"),
    ],
)  # fmt: skip
def test_the_buttons_of_a_paper_give_its_fut(path, body, fut):
    body = f"{PLAIN}{ABSTRACT if path == '/a' else ''}{body}"
    best = find(Page(f"https://x.example{path}", body.encode()))[0]
    assert (best.url, best.label, best.promising) == (f"https://x.example{fut}", "fut", True)


def test_what_is_at_the_publisher_is_believed_where_its_address_is_a_files():
    body = f"{PLAIN}{ABSTRACT}<a href=https://p.example/a{{}}>View at Publisher</a>"
    labels = [
        find(Page("https://x.example/publication/ice", body.format(end).encode()))[0].label
        for end in (".pdf", "/ice")
    ]
    assert labels == ["fut", "other"]


@pytest.mark.parametrize("title", ["Ada Quill", "Slow glaciers and quick rivers"])
def test_buttons_that_come_again_are_those_of_a_list(title):
    body = f"<h1>{title}</h1>{ROW}{ROW.replace('zz', 'yy')}"
    found = find(Page("https://x.example/", body.encode()))
    assert not any(c.promising for c in found)


def test_a_supplement_that_is_named_before_its_icon_stays_one():
    body = f"{PLAIN}{ABSTRACT}<a href=/zz.pdf>Supplement</a> <a href=/zz.pdf>[PDF]</a>"
    assert find(Page("https://x.example/publication/ice", body.encode()))[0].label == "supplement"


MENU = "<ul class='nav nav-pills'>{}</ul>"
TITLE = "<title>Slow glaciers and quick rivers</title>"
PREPRINT = "<a href=https://arxiv.org/abs/2001.00001>Paper</a>"


@pytest.mark.parametrize(
    "body",
    [
        PLAIN + MENU.format(f"{PREPRINT} <a href=https://c.example/q>Code</a>"),
        f"{TITLE}<h1>Paper</h1>{PREPRINT}<p>Abstract. We see ice.</p><h1>Code</h1><h1>Team</h1>",
    ],
)
def test_a_projects_paper_is_found_in_a_menu_and_under_a_short_heading(body):
    best = find(Page("https://ice.example/", body.encode()))[0]
    assert (best.url, best.label) == ("https://arxiv.org/pdf/2001.00001", "fut")


@pytest.mark.parametrize("other", ["Home", "Teaching"])
def test_the_menu_of_a_site_is_no_row_of_buttons(other):
    menu = MENU.format(f"<a href=/p/zz.pdf>Paper</a> <a href=/o>{other}</a>")
    found = find(Page("https://ice.example/wp/5512", f"{PLAIN}{menu}".encode()))
    assert "in-navigation" in next(c for c in found if c.url.endswith("pdf")).reasons


def test_a_pdf_on_another_site_has_no_rival_in_a_menu():
    body = (
        f"{PLAIN}{ABSTRACT}<a href=/papers/>Working papers</a>"
        "<a href=https://o.example/servlets/purl/139>PDF</a>"
    )
    best = find(Page("https://x.example/publication/ice", body.encode()))[0]
    assert (best.url, best.label) == ("https://o.example/servlets/purl/139", "fut")


@pytest.mark.parametrize("heading", ["Ice 11 talk schedule", "Ice 11 electronic proceedings"])
def test_a_schedule_and_the_front_of_a_volume_are_of_many_papers(heading):
    text = f"<title>{heading}</title><h2>{heading}</h2><p>Abstract booklets are sold out.</p>"
    file = "<a href='schedule/Ice%2011%20Full%20Schedule.pdf'>here</a>"
    page = Page("https://x.example/Ice11Proceedings/schedule.html", f"{text}{file}".encode())
    found = find(page)
    assert kind_of(page, found) == "issue"
    assert not any(c.label == "fut" for c in found)


def test_what_is_new_on_a_site_is_a_list():
    entry = "<p>A word on ice in the north. <a href=/archive/Q{}.pdf>Download</a> Keywords: ice</p>"
    body = f"<title>Recent books and articles - Ice</title><h2>New books and articles</h2>{entry}"
    page = Page("https://x.example/recent", (body.format(1) + entry.format(2)).encode())
    found = find(page)
    assert (kind_of(page, found), [c.url for c in found if c.label == "fut"]) == ("list", [])


def test_many_files_with_names_of_their_own_are_a_list_whatever_the_page_says():
    names = ["Salt", "Roads", "Rivers", "Tundra", "Borders", "Caves", "Moss", "Lakes", "Weather"]
    files = [
        f"<dt><a href=/papers/f{n}.pdf>{name} in the northern lands</a></dt><dd>Draft of 2005.</dd>"
        for n, name in enumerate([*names, "Parts and"])
    ]
    body = f"<title>Ada Quill: Papers</title><h1>Ada Quill: Papers</h1><dl>{''.join(files)}</dl>"
    body += "<p>Abstract: see the JEL codes, doi 10.1234/5.</p>"
    found = find(Page("https://quill.example/papers/", body.encode()))
    assert not any(c.label == "fut" for c in found)


@pytest.mark.parametrize("heading", ["Data Availability Statement", "Disponibilidade de dados"])
def test_data_under_their_heading_are_no_paper(heading):
    body = f"{PLAIN}{ABSTRACT}<h3>{heading}</h3><div><a href=5512-m3.pdf>Document</a></div>"
    assert find(Page("https://x.example/a/5512/", body.encode()))[0].label != "fut"
