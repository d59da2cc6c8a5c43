"""A hundred lists as programs write them: read without a word from who gives them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

from lafka.papers.lists.faults import ListAccount, fault
from lafka.papers.lists.listfiles import read
from lafka.pids import SCHEMES

LINKS = [
    "https://a.example/1.pdf",
    "https://a.example/view,2,en.html",
    "http://b.example/download.php?id=3&type=pdf",
    "https://c.example/a;jsessionid=4",
]
HANDLES = [f"RePEc:aaa:wpaper:{number}" for number in range(1, 5)]
DOIS = [f"10.1000/xyz.{number}" for number in range(1, 5)]


class Given(NamedTuple):
    """A list as a program writes it."""

    program: str
    name: str
    data: bytes
    pids: list[str]
    scheme: str = "RePEc"


def sheet(rows: list[list[str]], mark: str, *, end: str = "\r\n", quote_all: bool = False) -> str:
    text = io.StringIO()
    quoting = csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL
    csv.writer(text, delimiter=mark, lineterminator=end, quoting=quoting).writerows(rows)
    return text.getvalue()


# The headers and titles that a user of Excel in this language has, its list separator and the code
# page of its plain CSV.
EXCEL = {
    "en": (["Handle", "Title", "Link"], "Money – a “history”", ",", "cp1252"),
    "de": (["Kennung", "Titel", "Verweis"], "Über Geld, Größe und mehr", ";", "cp1252"),
    "fr": (["Identifiant", "Titre", "Lien"], "Théorie générale; œuvres", ";", "cp1252"),
    "pl": (["Identyfikator", "Tytuł", "Odnośnik"], "Pieniądz, źródło i żądza", ";", "cp1250"),
    "ru": (["Код", "Название", "Ссылка"], "О деньгах и времени", ";", "cp1251"),
}


def excel() -> Iterator[Given]:
    for locale, (header, title, mark, page) in EXCEL.items():
        body = [[pid, title, link] for pid, link in zip(HANDLES, LINKS, strict=True)]
        short = [[row[0], row[2]] for row in body]
        named = [["pid", "titel", "url"], *body]
        forms = {
            "CSV": (mark, page, ".csv"),
            "CSV UTF-8": (mark, "utf-8-sig", ".csv"),
            "Unicode text": ("\t", "utf-16", ".txt"),
            "Text": ("\t", page, ".txt"),
            "CSV for Macintosh": (mark, page, ".csv"),
        }
        for form, (by, encoding, ending) in forms.items():
            end = "\r" if "Mac" in form else "\r\n"
            for kind, rows in (("own header", [header, *body]), ("header", named), ("bare", short)):
                data = sheet(rows, by, end=end).encode(encoding, "replace")
                yield Given(f"Excel {locale}, {form}, {kind}", f"l{ending}", data, HANDLES)


def other_sheets() -> Iterator[Given]:
    body = [[link, "Ein Titel, 2", pid] for pid, link in zip(HANDLES, LINKS, strict=True)]
    rows = [["Full text URL", "Title", "RePEc handle"], *body]
    for by, encoding in product(",;\t", ("utf-8", "utf-16", "cp1252")):
        data = sheet(rows, by, end="\n", quote_all=True).encode(encoding)
        yield Given(f"LibreOffice {by!r} {encoding}", "l.csv", data, HANDLES)
    for by, name in ((",", "l.csv"), ("\t", "l.tsv")):
        yield Given("Google Sheets", name, sheet(rows, by).rstrip("\r\n").encode(), HANDLES)
    yield Given("sep=", "l.csv", ("sep=;\r\n" + sheet(rows, ";")).encode("cp1252"), HANDLES)


ZOTERO = [
    "Key", "Item Type", "Publication Year", "Author", "Title", "Publication Title", "ISBN", "ISSN",
    "DOI", "Url", "Abstract Note", "Date", "Link Attachments", "Manual Tags",
]  # fmt: skip


def managers() -> Iterator[Given]:
    papers = list(zip(DOIS, LINKS, strict=True))
    for note in ("", "One line; two", 'First, "so".\n\nhttps://x.example/ is\nno link.'):
        rows = [
            [f"KEY{at}", "journalArticle", "2019", "Doe, Jane; Roe, Ü.", "On, and on", "J. of X",
             "", "1234-5678", doi, link, note, "2019-01-02", "", "a; b"]
            for at, (doi, link) in enumerate(papers)
        ]  # fmt: skip
        data = sheet([ZOTERO, *rows], ",", end="\n", quote_all=True).encode("utf-8-sig")
        pids = [f"doi:{doi}" for doi in DOIS]
        yield Given(f"Zotero {note!r}", "l.csv", data, pids, "any")
    fields = ["Reference Type", "Author", "Year", "Title", "DOI", "URL"]
    works = [["Journal Article", "Doe, J.", "2019", "On", doi, link] for doi, link in papers]
    for end in ("\r\n", "\r", "\n"):
        for encoding in ("utf-8", "utf-8-sig", "utf-16"):
            data = sheet([fields, *works], "\t", end=end).encode(encoding)
            yield Given("EndNote", "l.txt", data, [f"doi:{doi}" for doi in DOIS], "any")


def editors() -> Iterator[Given]:
    pairs = list(zip(HANDLES, LINKS, strict=True))
    for end, encoding in product(("\n", "\r\n", "\r"), ("utf-8", "utf-8-sig", "utf-16")):
        yield Given("editor", "l.txt", sheet_of(pairs, "\t", end).encode(encoding), HANDLES)
    for blank in ("\u00a0\t", " \t ", "\t\u2003"):
        yield Given("blanks", "l.tsv", sheet_of(pairs, blank, "\n").encode(), HANDLES)
    swapped = [(link, pid) for pid, link in pairs]
    yield Given("swapped", "l.tsv", sheet_of(swapped, "\t", "\n").encode(), HANDLES)
    yield Given("bars", "l.txt", sheet_of(pairs, " | ", "\n").encode(), HANDLES)


def tables() -> Iterator[Given]:
    """What stands around the lines of a list, and around a pid or a link."""
    pairs = list(zip(HANDLES, LINKS, strict=True))
    rows = [["Handle", "Link", "Year"], *([*pair, "2001"] for pair in pairs)]
    whole = sheet(rows, ";")
    ends = {"empty rows": ";;\r\n;;\r\n", "Ctrl-Z": "\x1a", "zeros": "\0" * 600, "twice": "\ufeff"}
    for end, text in ends.items():
        yield Given(f"end: {end}", "l.csv", (whole + text).encode("utf-8-sig"), HANDLES)
    parts = sheet(rows[:3], ","), sheet([rows[0], *rows[3:]], ",")
    both = b"".join(part.encode("utf-8-sig") for part in parts)
    yield Given("two lists in one", "l.csv", both, HANDLES)
    yield Given("a title above", "l.csv", f"Papers of 2001;;\r\n;;\r\n{whole}".encode(), HANDLES)
    ruled = sheet_of(pairs, " | ", "\n")
    for first, last in ((" pid | url\n-----+----\n", "(4 rows)\n"), ("pid | url\n---|:---\n", "")):
        yield Given("a ruled table", "l.txt", (first + ruled + last).encode(), HANDLES)
    long = [["Title", "Handle", "Link"], *(["Of\ntwo lines", *pair] for pair in pairs)]
    yield Given("cells of two lines", "l.tsv", sheet(long, "\t").encode(), HANDLES)
    for one, other in ("<>", "“”", "''", "##", "\u200b\u200b", "\u200e\ufeff"):
        around = [(pid, f"{one}{link}{other}") for pid, link in pairs]
        yield Given(
            f"around: {one!r}", "l.csv", sheet(around, ";", quote_all=True).encode(), HANDLES
        )
        hidden = [(f"{one}{pid}{other}", link) for pid, link in pairs]
        if one != "#":
            yield Given(f"around: {one!r}", "l.tsv", sheet_of(hidden, "\t", "\n").encode(), HANDLES)
    objects = [{"handle": pid, "url": link} for pid, link in pairs]
    for name, indent in (("l.json", 2), ("l.jsonl", None)):
        yield Given("array", name, json.dumps(objects, indent=indent).encode("utf-8-sig"), HANDLES)
    for name in ("l.tab", "l", "l.csv.txt"):
        yield Given("another ending", name, whole.encode(), HANDLES)
    yield Given("UTF-32", "l.csv", whole.encode("utf-32"), HANDLES)
    works = [[f"https://works.example/{pid}", f"https://doi.org/{doi}", link] for doi, (pid, link)
             in zip(DOIS, pairs, strict=True)]  # fmt: skip
    data = sheet([["id", "doi", "pdf_url"], *works], ",").encode()
    yield Given("OpenAlex", "l.csv", data, [f"doi:{doi}" for doi in DOIS], "any")


def sheet_of(pairs: list[tuple[str, str]], mark: str, end: str) -> str:
    return "".join(f"{one}{mark}{other}{end}" for one, other in pairs)


def is_right(path: Path, given: Given) -> bool:
    path.write_bytes(given.data)
    scheme = SCHEMES[given.scheme]
    lines = list(read(path, scheme))
    read_as = [(str(line.futli.pid), line.futli.url) for line in lines if line.futli]
    account = ListAccount.of(lines, scheme)
    sound = not account.kinds and not account.duplicates
    return sound and read_as == list(zip(given.pids, LINKS, strict=True))


def test_a_hundred_lists_are_read_as_they_are_meant(tmp_path: Path) -> None:
    lists = [*excel(), *other_sheets(), *managers(), *editors(), *tables()]
    wrong = [one.program for one in lists if not is_right(tmp_path / one.name, one)]
    assert len(lists) >= 100
    assert len(wrong) <= 0.05 * len(lists), wrong


def test_a_list_of_dois_alone_is_asked_for_at_their_resolver(tmp_path: Path) -> None:
    path = tmp_path / "l.txt"
    path.write_text("".join(f"{doi}\n" for doi in DOIS))
    futlis = [line.futli for line in read(path, SCHEMES["any"])]
    found = [(str(futli.pid), futli.url) for futli in futlis if futli]
    assert found == [(f"doi:{doi}", f"https://doi.org/{doi}") for doi in DOIS]


def test_a_formula_is_no_link_and_its_link_is_meant(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    rows = [["pid", "url"], [HANDLES[0], f'=HYPERLINK("{LINKS[0]}";"text")']]
    path.write_text(sheet(rows, ","))
    (line,) = read(path, SCHEMES["RePEc"])
    found = fault(line, SCHEMES["RePEc"])
    assert found is not None
    assert found.mended == (HANDLES[0], LINKS[0])
