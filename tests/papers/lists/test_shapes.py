"""Lists as spreadsheets and editors write them are read as what they are, and told once."""

from __future__ import annotations

import gzip
import logging
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.papers.lists.listfiles import read
from lafka.papers.lists.shapes import ListOptions, ListShape, shape_of
from lafka.pids import SCHEMES

SCHEME = SCHEMES["RePEc"]
ROWS = [
    ("Handle", "Titre", "Link"),
    ("RePEc:aaa:bbbbbb:1", "Théorie générale", "https://a.example/1.pdf?x=1"),
    ("RePEc:aaa:bbbbbb:2", "Über Geld", "https://b.example/2.pdf"),
]
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252")


def lines_of(path: Path) -> list[tuple[str, str, str | None]]:
    return [(line.pid_text, line.url_text, line.outcome) for line in read(path, SCHEME)]


@pytest.mark.parametrize(
    ("encoding", "mark", "end", "name"),
    [*product(ENCODINGS, "\t,;", ("\n", "\r\n", "\r"), ("l.csv", "l.txt", "l.csv.gz"))],
)
def test_a_list_of_any_shape_is_the_same_list(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, encoding: str, mark: str, end: str, name: str
) -> None:
    data = "".join(mark.join(row) + end for row in ROWS).encode(encoding)
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    with caplog.at_level(logging.WARNING):
        assert lines_of(path) == [(pid, url, None) for pid, _, url in ROWS[1:]]
    usual = mark == ("\t" if name == "l.txt" else ",")
    known = ("utf-8", "utf-8-sig")
    is_odd = not usual or end == "\r" or encoding not in known
    assert len(caplog.messages) == is_odd
    assert all(f"{path}: read as it seems to be: " in told for told in caplog.messages)


@pytest.mark.parametrize("head", ["Nr;Handle;Titel;Volltext", "Nr;Code;Titel;Ort", ""])
def test_a_short_list_with_a_mistake_keeps_its_columns(tmp_path: Path, head: str) -> None:
    rows = [f"Nr. {n};RePEc:aaa:bbbbbb:{n};Größe;https://a.example/{n}.pdf" for n in range(4)]
    rows.append("Nr. 4;RePEc:aaa:bbbbbb:4;B;a.example/4.pdf")
    path = tmp_path / "l.csv"
    path.write_text("\r\n".join(filter(None, [head, *rows])), "cp1252")
    assert [(pid[-1], url[-5:], problem) for pid, url, problem in lines_of(path)] == [
        *((str(n), f"{n}.pdf", None) for n in range(4)),
        ("4", "4.pdf", "bad-url"),
    ]


@pytest.mark.parametrize(
    "data",
    [
        b"RePEc:aaa:bbbbbb:1\thttps://a.example/1,2;3.pdf\n",
        "RePEc:aaa:bbbbbb:1\thttps://a.example/ü\n".encode(),
        b"RePEc:aaa:bbbbbb:1\thttps://a.example/\xc3\xbc\xfc\n",  # UTF-8 and not: of no encoding
        b"RePEc:aaa:bbbbbb:1\thttps://a.example/\x81\n",
        b'{"pid": "RePEc:aaa:bbbbbb:1", "futli": "https://a.example/;"}\n',
        b"# a comment; and, one, more\n",
        b"",
        b"\n",
        b"x",
    ],
)
def test_what_is_in_doubt_stays_as_its_name_says(data: bytes) -> None:
    assert shape_of(data, "\t", SCHEME) == ListShape()


@given(st.binary(max_size=300), st.sampled_from(["\t", ",", ""]))
def test_any_bytes_have_a_shape(data: bytes, usual: str) -> None:
    shape = shape_of(data, usual, SCHEME)
    assert list(shape.lines_of([data[:7], data[7:]])) is not None
    assert str(shape) == "" or shape != ListShape()


def test_columns_of_a_list_without_a_right_link_are_parted(tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    text = "Kennung;Titel;Verweis\nRePEc:a:b:1;Über;ttp://x.example/1\nRePEc:a:b:2;Alle;www.x.example\n"
    path.write_bytes(text.encode("cp1252"))
    assert shape_of(path.read_bytes(), ",", SCHEME).delimiter == ";"
    links = "RePEc:a:b:1 http://x.example/1;a\nRePEc:a:b:2 http://x.example/2;b\n"
    assert shape_of(links.encode(), "\t", SCHEME).delimiter == " "


PAIRS = [(f"RePEc:a:b:{n}", f"https://a.example/{n},x.pdf") for n in range(1, 4)]
BY_BLANKS = {
    "one blank": ("{0} {1}\n", ""),
    "blanks": ("{0}    {1}  \n", "pid url\n"),
    "blanks that do not break": ("{0}\u00a0 {1}\n", ""),
    "a fixed width": ("{0:<20}{2:<30}{1}\n", "Handle   Title of the paper   Full text\n"),
    "the link first": ("{1} {0}\n", ""),
    "write.table": ('"7{0}" "{0}" "On \\"it\\", all" "{1}"\n', '"pid" "title" "url"\n'),
    "write.table, tabs": ('"7{0}"\t"{0}"\t"{1}"\n', '"pid"\t"url"\n'),
    "write.table, commas": ('"7{0}","{0}","{1}"\n', '"pid","url"\n'),
    "write.table, not quoted": ("7 {0} {1}\n", "pid url\n"),
    "write.table, no row names": ('"{0}" "{1}"\n', '"pid" "url"\n'),
    "write.table, pids as row names": ('"{0}" "{1}"\n', '"url"\n'),
    "print": ("7  {0} {1}\n", "       pid        url\n"),
}


@pytest.mark.parametrize("name", ["l.txt", "l.csv"])
@pytest.mark.parametrize("kind", BY_BLANKS)
def test_columns_that_blanks_part_are_read_and_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, kind: str, name: str
) -> None:
    line, header = BY_BLANKS[kind]
    path = tmp_path / name
    path.write_text(header + "".join(line.format(*pair, f"On {pair[0]}") for pair in PAIRS))
    with caplog.at_level(logging.WARNING):
        assert lines_of(path) == [(*pair, None) for pair in PAIRS]
    (told,) = caplog.messages
    mark = {"write.table, tabs": "tab", "write.table, commas": "comma"}.get(kind, "blank")
    usual = {"l.txt": "tab", "l.csv": "comma"}[name]
    assert mark == usual or f"{mark}s" in told


WORD = st.text("abcA1.:/;,-_", min_size=1, max_size=8)
TITLE = st.lists(WORD, min_size=1, max_size=4).map(" ".join)


@given(st.lists(st.tuples(TITLE, st.integers(1, 3)), min_size=1, max_size=6), st.booleans())
def test_a_title_with_blanks_parts_no_list_with_tabs(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, int]], has_header: bool
) -> None:
    path = tmp_path_factory.mktemp("any") / "l.tsv"
    head = "pid\ttitle\turl\n" if has_header else ""
    lines = [f"RePEc:a:b:{n}\t{title}\thttps://a.example/{n}\n" for title, n in rows]
    shape = shape_of((head + "".join(lines)).encode(), "\t", SCHEME)
    assert shape.delimiter == ""
    first = [f"RePEc:a:b:{n}\tOn it\thttps://a.example/{n}\n" for n in range(10, 20)]
    path.write_text(head + "".join(first + lines))
    assert [url for _, url, _ in lines_of(path)[10:]] == [f"https://a.example/{n}" for _, n in rows]


@given(st.lists(st.tuples(TITLE, st.sampled_from([" ", "  "]), st.integers(1, 99)), min_size=2))
def test_no_line_with_blanks_is_read_as_another_paper_or_link(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, int]]
) -> None:
    path = tmp_path_factory.mktemp("any") / "l.txt"
    lines = [f"RePEc:a:b:{n}{by}{title}{by}https://a.example/{n}\n" for title, by, n in rows]
    path.write_text("".join(lines))
    for line in read(path, SCHEME):
        number = rows[line.number - 1][2]
        pair = f"RePEc:a:b:{number}", f"https://a.example/{number}"
        assert line.futli is None or (str(line.futli.pid), line.futli.url) == pair


def test_handles_are_the_pids_also_where_one_paper_has_most_lines(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_text(
        "".join(f"RePEc:a:b:1;part{n};https://a.example/{n}.pdf\n" for n in range(1, 5))
    )
    assert lines_of(path) == [
        ("RePEc:a:b:1", f"https://a.example/{n}.pdf", None) for n in range(1, 5)
    ]


def test_a_word_beside_handles_that_do_not_stand_alone_is_no_pid(tmp_path: Path) -> None:
    path = tmp_path / "l.txt"
    path.write_text(
        "".join(
            f"RePEc:a:b:{n} {'On ' * n}; money{n}; https://a.example/{n}.pdf\n" for n in range(1, 5)
        )
    )
    assert not any(line.futli for line in read(path, SCHEME))


def test_numbers_of_lines_are_no_pids() -> None:
    lines = "1 10.1000/1 https://a.example/1\n2 10.1000/2 https://a.example/2\n"
    assert shape_of(lines.encode(), "\t", SCHEME).delimiter == ""
    named = shape_of(f"doi url\n{lines}".encode(), "\t", SCHEMES["any"])
    assert (named.delimiter, named.columns.pid, named.columns.url) == (" ", 1, 2)


@pytest.mark.parametrize("mark", "|.^,")
def test_nothing_behind_a_closing_quote_is_left_out(tmp_path: Path, mark: str) -> None:
    path = tmp_path / "l.txt"
    path.write_text(f'RePEc:aaa:bbbbbb:1{mark}"https://a.example/1"x\n')
    (line,) = read(path, SCHEME, options=ListOptions(delimiter=mark))
    assert line.outcome == "bad-url"


def test_a_doi_and_its_link_are_a_line_of_any_shape(tmp_path: Path) -> None:
    lines = "doi:10.1000/1{0}https://a.example/1,10.1000/b\n10.1000/2{0}https://a.example/2\n"
    for mark, usual in product("\t;", "\t,"):
        shape = shape_of(lines.format(mark).encode(), usual, SCHEMES["any"])
        assert (shape.delimiter or usual) == mark


@pytest.mark.parametrize("name", ["Title", "Titel", "Titre", "TITOLO", "Título"])
def test_a_title_is_known_in_other_languages(tmp_path: Path, name: str) -> None:
    path = tmp_path / "l.csv"
    path.write_text(f"Kennung;{name};Lien\nRePEc:aaa:bbbbbb:1;Über Geld;https://a.example/1\n")
    (line,) = read(path, SCHEME)
    assert line.futli is not None
    assert line.futli.title == "Über Geld"


def test_a_character_may_lie_across_two_chunks(tmp_path: Path) -> None:
    path = tmp_path / "l.txt"
    title = "ü" * 70_000
    text = f"pid\ttitle\turl\nRePEc:aaa:bbbbbb:1\t{title}\thttps://a.example/1\n"
    path.write_bytes(b"\xff\xfe" + text.encode("utf-16-le"))
    assert lines_of(path) == [("RePEc:aaa:bbbbbb:1", "https://a.example/1", None)]
