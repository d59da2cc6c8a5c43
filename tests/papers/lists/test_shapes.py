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
from lafka.papers.lists.shapes import Shape, shape_of
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
    assert shape_of(data, "\t", SCHEME) == Shape()


@given(st.binary(max_size=300), st.sampled_from(["\t", ",", ""]))
def test_any_bytes_have_a_shape(data: bytes, usual: str) -> None:
    shape = shape_of(data, usual, SCHEME)
    assert list(shape.lines_of([data[:7], data[7:]])) is not None
    assert str(shape) == "" or shape != Shape()


def test_columns_of_a_list_without_a_right_link_are_parted(tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    text = "Kennung;Titel;Verweis\nRePEc:a:b:1;Über;ttp://x.example/1\nRePEc:a:b:2;Alle;www.x.example\n"
    path.write_bytes(text.encode("cp1252"))
    assert shape_of(path.read_bytes(), ",", SCHEME).delimiter == ";"
    links = "RePEc:a:b:1 http://x.example/1;a\nRePEc:a:b:2 http://x.example/2;b\n"
    assert not shape_of(links.encode(), "\t", SCHEME).delimiter


def test_a_character_may_lie_across_two_chunks(tmp_path: Path) -> None:
    path = tmp_path / "l.txt"
    title = "ü" * 70_000
    text = f"pid\ttitle\turl\nRePEc:aaa:bbbbbb:1\t{title}\thttps://a.example/1\n"
    path.write_bytes(b"\xff\xfe" + text.encode("utf-16-le"))
    assert lines_of(path) == [("RePEc:aaa:bbbbbb:1", "https://a.example/1", None)]
