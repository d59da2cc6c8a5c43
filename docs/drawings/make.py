"""Draws the pictures of the documentation as SVG: ``make drawings``.

A drawing is rows of boxes with arrows between them; a session is what a terminal showed, from the
tutorial, whose test compares it with what the commands print.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

HERE = Path(__file__).parent
Box = tuple[int, int, str]
"""Column, row, and the lines of the text, the first of which is the name."""
Arrow = tuple[int, int, str]
"""From which box to which, by number, and what goes there."""
WIDE, HIGH, STEP_X, STEP_Y = 190, 62, 270, 110
STYLE = (
    "text{font:13px sans-serif;fill:#222}.n{font-weight:bold}"
    ".a{font-size:11px;fill:#555;text-anchor:middle}"
    "rect{fill:#eef3f8;stroke:#456;rx:6}path{stroke:#456;fill:none;marker-end:url(#m)}"
)
MARKER = (
    '<defs><marker id="m" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
    '<path d="M0,0 L8,4 L0,8 z" style="fill:#456;marker-end:none"/></marker></defs>'
)
PAPER = '<rect width="100%" height="100%" style="fill:#fff;stroke:none"/>'
"""The white behind a drawing: its text is dark, and pages may be, too."""
DRAWINGS: dict[str, tuple[str, tuple[Box, ...], tuple[Arrow, ...]]] = {
    "list-to-pdf": (
        "From a list to PDFs",
        (
            (0, 0, "list\npid, link"), (1, 0, "request\npolite, by host"),
            (2, 0, "raw WARC\nthe bytes of the wire"), (2, 1, "link page\nits links are ranked"),
            (1, 1, "next link\nthe surest first"), (3, 0, "paper's WARC\nand its suwaf"),
            (3, 1, "outcome\na line of the feed"),
        ),
        (
            (0, 1, "line"), (1, 2, "answer"), (2, 3, "HTML"), (3, 4, "candidates"), (4, 1, "ask"),
            (2, 5, "PDF"), (5, 6, "synced"),
        ),
    ),
    "outcomes": (
        "How a line ends",
        (
            (2, 0, "line of the list\none outcome each"), (0, 1, "held\nfut"),
            (1, 1, "page only\nsplap-only, ..."), (2, 1, "not there\nnot-found, gone, dns"),
            (3, 1, "closed\nrobots, login, ..."), (4, 1, "trouble\ntimeout, tls, ..."),
            (5, 1, "ours\nbad-pid, excluded, ..."),
        ),
        tuple((0, group, "") for group in range(1, 7)),
    ),
    "archive-on-disk": (
        "The archive on disk",
        (
            (1, 0, "archive/\nlafka.json: the format"), (0, 1, "warc/\none WARC a paper"),
            (1, 1, "suwaf/\none summary a paper"), (2, 1, "runs/\nfeed and report a run"),
            (3, 1, "raw/\nwork in progress"), (0, 2, "the PDF\nbytes s to s + l"),
            (3, 2, "empty\nafter a clean run"),
        ),
        (
            (0, 1, ""), (0, 2, ""), (0, 3, ""), (0, 4, ""), (2, 5, "s, l"), (4, 6, ""),
        ),
    ),
    "house": (
        "The rooms of the code",
        (
            (0, 0, "cli, spiders\nwhat a user calls"), (1, 0, "index, reports, web\nread archives"),
            (0, 1, "papers\nlists to full texts"), (1, 1, "archec\nRePEc's templates"),
            (2, 1, "filesets\ndatasets"), (0, 2, "capture, runs, jobs\nthe crawl"),
            (1, 2, "witness\nwhat proofs share"), (2, 2, "politeness\nhosts, turns, the gate"),
            (0, 3, "storage\nsteps; WARC and summary"), (1, 3, "warc\nthe WARC library"),
            (2, 3, "errors, pids, urls\nthe ground"),
        ),
        (
            (0, 2, ""), (1, 3, ""), (2, 5, ""), (3, 6, ""), (4, 7, ""), (5, 8, ""), (6, 9, ""),
            (7, 10, ""),
        ),
    ),
}  # fmt: skip


def drawing(title: str, boxes: tuple[Box, ...], arrows: tuple[Arrow, ...]) -> str:
    """Return the SVG of *boxes* and *arrows*."""
    wide = max(column for column, _, _ in boxes) * STEP_X + WIDE + 20
    high = max(row for _, row, _ in boxes) * STEP_Y + HIGH + 20
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" role="img">',
        f"<title>{escape(title)}</title><style>{STYLE}</style>",
        PAPER,
        MARKER,
        *(_box(box) for box in boxes),
        *(_arrow(boxes[start], boxes[end], text) for start, end, text in arrows),
        "</svg>\n",
    ])  # fmt: skip


def _box(box: Box) -> str:
    x, y = box[0] * STEP_X + 10, box[1] * STEP_Y + 10
    name, text = box[2].split("\n")
    return (
        f'<rect x="{x}" y="{y}" width="{WIDE}" height="{HIGH}"/>'
        f'<text class="n" x="{x + 12}" y="{y + 25}">{escape(name)}</text>'
        f'<text x="{x + 12}" y="{y + 45}">{escape(text)}</text>'
    )


def _arrow(start: Box, end: Box, text: str) -> str:
    (x1, y1), (x2, y2) = ((box[0] * STEP_X + 10, box[1] * STEP_Y + 10) for box in (start, end))
    if start[1] == end[1]:
        east = x2 > x1
        x1, x2 = (x1 + WIDE, x2) if east else (x1, x2 + WIDE)
        y1 = y2 = y1 + HIGH // 2
    else:
        x1, x2 = x1 + WIDE // 2, x2 + WIDE // 2
        y1, y2 = (y1 + HIGH, y2) if y2 > y1 else (y1, y2 + HIGH)
    aside = 0 if y1 == y2 else 30
    at = f'x="{(x1 + x2) // 2 + aside}" y="{(y1 + y2) // 2 - 5}"'
    told = f'<text class="a" {at}>{escape(text)}</text>' if text else ""
    return f'<path d="M{x1},{y1} L{x2},{y2}"/>{told}'


def session(page: str) -> str:
    """Return the SVG of a terminal with the commands of *page* and what it shows of them."""
    blocks = re.findall(r"(?ms)^```(sh|text)\n(.*?)^```", page)[2:]
    lines = [line for kind, block in blocks for line in _typed(kind, block)]
    wide, high = 8 * max(map(len, lines)) + 30, 18 * len(lines) + 30
    rows = [
        f'<text x="15" y="{18 * number + 28}" fill="{"#9d9" if line[:2] == "$ " else "#ddd"}"'
        f' xml:space="preserve">{escape(line)}</text>'
        for number, line in enumerate(lines)
    ]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" role="img">',
        "<title>A first crawl in a terminal</title><style>text{font:13px monospace}</style>",
        f'<rect width="{wide}" height="{high}" rx="8" fill="#1d2127"/>', *rows, "</svg>\n",
    ])  # fmt: skip


def _typed(kind: str, block: str) -> Iterator[str]:
    for line in block.splitlines():
        yield f"$ {line}" if kind == "sh" else line.expandtabs(4)


def all_drawings() -> dict[str, str]:
    """Return the drawings by the names of their files."""
    found = {f"{name}.svg": drawing(*parts) for name, parts in DRAWINGS.items()}
    tutorial = (HERE.parent / "tutorial.md").read_text("utf-8")
    return found | {"session.svg": session(tutorial)}


if __name__ == "__main__":
    for file, text in all_drawings().items():
        (HERE / file).write_text(text, "utf-8")
