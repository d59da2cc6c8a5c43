"""The first two pages of a fut as text, for ``finders.inside``; read by pypdfium2, in a child.

It is the extra ``lafka[inside]``. Imported here is only what the child needs: it begins sooner.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from lafka.papers.finders.inside import Front, Line, Sheet, evidence
from lafka.storage import children

if TYPE_CHECKING:
    from pypdfium2 import PdfPage, PdfTextPage

MEMORY = 200 << 20
"""Bytes of address space of the child."""
SHEETS = 2
PIECES = 400
"""Pieces of lines that are read of a page; a full one has some hundred."""


def serve() -> None:
    """Look into futs until standard input ends. Runs in the child."""
    children.serve({"fut": _answer}, memory=MEMORY)


def _answer(question: dict[str, Any], data: bytes) -> str:
    with suppress(Exception):  # a PDF that cannot be read says nothing
        return evidence(front_of(data), question["titles"])
    return ""


def front_of(data: bytes) -> Front:
    """The first pages of the PDF *data*; whatever pypdfium2 raises where it is none."""
    from pypdfium2 import PdfDocument  # noqa: PLC0415  an optional extra

    document = PdfDocument(data)
    count = len(document)
    sheets = tuple(_sheet(document[number]) for number in range(min(count, SHEETS)))
    return Front(sheets=sheets, count=count, fillable=document.get_formtype() != 0)


def _sheet(page: PdfPage) -> Sheet:
    text = page.get_textpage()
    lines: list[Line] = []
    low = high = 0.0
    for number in range(min(text.count_rects(), PIECES)):
        piece, bottom, top = _piece(text, number)
        beside = min(top, high) - max(bottom, low) > 0.5 * min(top - bottom, high - low)
        if piece.text and beside and lines:
            before = lines.pop()
            height = max(before.height, piece.height)
            piece = Line(text=f"{before.text} {piece.text}", height=height)
        if piece.text:
            lines.append(piece)
            low, high = bottom, top
    return Sheet(width=page.get_width(), height=page.get_height(), lines=tuple(lines))


def _piece(text: PdfTextPage, number: int) -> tuple[Line, float, float]:
    left, bottom, right, top = text.get_rect(number)
    said = text.get_text_bounded(left, bottom, right, top)
    # The box of a rectangle is tight: a line without descenders would pass for smaller type.
    places = ((1 - share) * left + share * right for share in (0.02, 0.3, 0.6))
    letters = [text.get_index(x, (bottom + top) / 2, 3, 3) for x in places]
    boxes = [text.get_charbox(letter, loose=True) for letter in letters if letter]
    height = max((box[3] - box[1] for box in boxes), default=top - bottom)
    return Line(text=" ".join(said.split()), height=height), bottom, top
