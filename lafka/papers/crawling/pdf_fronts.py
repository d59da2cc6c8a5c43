"""The first two pages of a fut as text, for ``finders.inside``; read by pypdfium2, in a child.

It is the extra ``lafka[inside]``. Imported here is only what the child needs: it begins sooner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from lafka.papers.finders.inside import Front, Line, Sheet, evidence
from lafka.storage import children

if TYPE_CHECKING:
    from pypdfium2 import PdfPage, PdfTextPage

    PlaceOf = Callable[[PdfTextPage, int], int]
    """Text of a page, place in what was read of it -> place among the page's letters."""

MEMORY = 200 << 20
"""Bytes of address space of the child."""
SHEETS = 2
LETTERS, LINES = 40_000, 400
"""What is read of a page, at most; a full one has some thousand letters, in some hundred lines."""


def serve() -> None:
    """Look into futs until standard input ends. Runs in the child."""
    children.serve({"fut": _answer}, memory=MEMORY)


def _answer(question: dict[str, Any], data: bytes) -> str:
    with suppress(Exception):  # a PDF that cannot be read says nothing
        return evidence(front_of(data), question["titles"], question["headings"])
    return ""


def front_of(data: bytes) -> Front:
    """The first pages of the PDF *data*; whatever pypdfium2 raises where it is none."""
    from pypdfium2 import PdfDocument, raw  # noqa: PLC0415  an optional extra

    document = PdfDocument(data)
    count, place_of = len(document), raw.FPDFText_GetCharIndexFromTextIndex
    sheets = tuple(_sheet(document[number], place_of) for number in range(min(count, SHEETS)))
    pictures = document[0].get_objects((raw.FPDF_PAGEOBJ_IMAGE,)) if count == 1 else iter(())
    return Front(
        sheets=sheets, count=count,
        fillable=document.get_formtype() != 0, pictured=next(pictures, None) is not None,
    )  # fmt: skip


def _sheet(page: PdfPage, place_of: PlaceOf) -> Sheet:
    text = page.get_textpage()
    lines: list[Line] = []
    start = 0  # of a line, in units of UTF-16, as PDFium counts
    for said in text.get_text_range(0, min(text.count_chars(), LETTERS)).split("\n")[:LINES]:
        if known := " ".join(said.split()):
            letters = [start + n for n, letter in enumerate(said) if not letter.isspace()]
            some = (letters[int(share * len(letters))] for share in (0.02, 0.3, 0.6))
            places = [place_of(text, letter) for letter in some]
            lines.append(Line(text=known, height=_height(text, places)))
        start += len(said.encode("utf-16-le", "surrogatepass")) // 2 + 1
    return Sheet(width=page.get_width(), height=page.get_height(), lines=tuple(lines))


def _height(text: PdfTextPage, places: Iterable[int]) -> float:
    """The height of some letters of a line: that of their font, which all of them have."""
    boxes = [text.get_charbox(place, loose=True) for place in places if place >= 0]
    return max((top - bottom for _, bottom, _, top in boxes), default=0.0)
