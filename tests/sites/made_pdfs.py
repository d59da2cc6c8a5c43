"""PDFs of text, written by hand: pages of lines, in a font that maps its codes to characters.

No font is embedded, so nobody can read them on a screen; their text is what a reader of text finds.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

A4 = (595.0, 842.0)
SLIDE = (362.8, 272.1)
LIGATURES = ("ffi", "ffl", "fi", "fl", "ff")


@dataclass(frozen=True, kw_only=True)
class Text:
    """A line of text at ``x`` from the left, ``down`` below the line before it, in points."""

    said: str
    size: float = 10.0
    x: float = 72.0
    down: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Look:
    """How the text is set: ``ligatures`` as one glyph; accents ``decomposed``; codes ``mapped``
    to characters, else nobody knows what they are; ``scanned``: a picture and no text; letters of
    headings ``spread``, or all of them ``placed`` one by one, as printers from browsers do it.
    """

    ligatures: bool = False
    decomposed: bool = False
    mapped: bool = True
    scanned: bool = False
    spread: bool = False
    placed: bool = False


@dataclass(frozen=True, kw_only=True)
class Leaf:
    """A page: its lines from top to bottom."""

    lines: tuple[Text, ...] = ()
    size: tuple[float, float] = A4


@dataclass
class _Codes:
    look: Look
    known: dict[str, str] = field(default_factory=dict)

    def of(self, said: str) -> str:
        """The codes of *said* in hex, two bytes each."""
        return "".join(self.each(said))

    def each(self, said: str) -> list[str]:
        return [
            self.known.setdefault(c, f"{len(self.known) + 3:04x}") for c in self._clusters(said)
        ]

    def _clusters(self, said: str) -> Sequence[str]:
        if self.look.decomposed:
            said = unicodedata.normalize("NFD", said)
        if not self.look.ligatures:
            return said
        return re.findall(f"{'|'.join(LIGATURES)}|.", said, re.DOTALL)

    def cmap(self) -> bytes:
        glyphs = {"ffi": "\ufb03", "ffl": "\ufb04", "fi": "\ufb01", "fl": "\ufb02", "ff": "\ufb00"}
        pairs = [
            f"<{code}> <{glyphs.get(c, c).encode('utf-16-be').hex()}>"
            for c, code in self.known.items()
        ]
        blocks = [pairs[n : n + 100] for n in range(0, len(pairs), 100)]
        maps = "\n".join(f"{len(b)} beginbfchar\n" + "\n".join(b) + "\nendbfchar" for b in blocks)
        return (
            "/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n/CMapName /X def\n"
            "/CMapType 2 def 1 begincodespacerange <0000> <ffff> endcodespacerange\n"
            f"{maps}\nendcmap CMapName currentdict /CMap defineresource pop end end"
        ).encode()


def made(leaves: Sequence[Leaf], look: Look | None = None, *, fields: bool = False) -> bytes:
    """The PDF of *leaves*; with *fields* it has a form to fill in."""
    look = look or Look()
    codes = _Codes(look)
    contents = [_content(leaf, codes) for leaf in leaves]
    first = 9
    kids = " ".join(f"{first + 2 * n} 0 R" for n in range(len(leaves)))
    form = " /AcroForm << /Fields [8 0 R] >>" if fields else ""
    unicode = " /ToUnicode 6 0 R" if look.mapped else ""
    objects = [
        f"<< /Type /Catalog /Pages 2 0 R{form} >>".encode(),
        f"<< /Type /Pages /Count {len(leaves)} /Kids [{kids}] >>".encode(),
        f"<< /Type /Font /Subtype /Type0 /BaseFont /Made /Encoding /Identity-H"
        f" /DescendantFonts [4 0 R]{unicode} >>".encode(),
        (b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Made /DW 500 /FontDescriptor 5 0 R"
        b" /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>"),
        (b"<< /Type /FontDescriptor /FontName /Made /Flags 4 /FontBBox [0 -200 500 800] /Ascent 800"
        b" /Descent -200 /CapHeight 700 /ItalicAngle 0 /StemV 80 >>"),
        _stream(codes.cmap()),
        _stream(zlib.compress(b"\xff" * 64), " /Type /XObject /Subtype /Image /Width 8 /Height 8"
                " /ColorSpace /DeviceGray /BitsPerComponent 8 /Filter /FlateDecode"),
        b"<< /FT /Tx /T (name) /V () >>",
    ]  # fmt: skip
    for number, (leaf, content) in enumerate(zip(leaves, contents, strict=True)):
        width, height = leaf.size
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width} {height}] /Contents"
            f" {first + 2 * number + 1} 0 R /Resources << /Font << /F 3 0 R >> /XObject"
            " << /I 7 0 R >> >> >>".encode()
        )
        objects.append(_stream(zlib.compress(content), " /Filter /FlateDecode"))
    return _file(objects)


def _content(leaf: Leaf, codes: _Codes) -> bytes:
    width, height = leaf.size
    if codes.look.scanned:
        return f"q {width} 0 0 {height} 0 0 cm /I Do Q".encode()
    pieces, y = [], height - 60
    for line in leaf.lines:
        y -= line.down
        if y < 30:
            break
        spacing = f"{line.size * 0.3} Tc " if codes.look.spread and line.size > 12 else "0 Tc "
        letters = codes.each(line.said) if codes.look.placed else [codes.of(line.said)]
        for n, code in enumerate(letters):
            x = line.x + n * 0.48 * line.size  # less than a letter's width: they touch
            place = f"/F {line.size} Tf 1 0 0 1 {x:.2f} {y:.1f} Tm"
            pieces.append(f"BT {spacing}{place} <{code}> Tj ET")
        y -= line.size * 1.3
    return "\n".join(pieces).encode()


def _stream(data: bytes, more: str = "") -> bytes:
    return f"<< /Length {len(data)}{more} >>\nstream\n".encode() + data + b"\nendstream"


def _file(objects: Sequence[bytes]) -> bytes:
    out, places = bytearray(b"%PDF-1.5\n%\xe2\xe3\xcf\xd3\n"), []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    start = len(out)
    size = len(objects) + 1
    out += f"xref\n0 {size}\n0000000000 65535 f \n{table}".encode()
    out += f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(out)


def wrapped(text: str, width: int, size: float = 10.0, *, hyphens: bool = False) -> list[Text]:
    """*text* in lines of *width* characters; with *hyphens*, words are broken at their ends."""
    lines, line = [], ""
    words = (
        text.split() if " " in text else [text[n : n + width] for n in range(0, len(text), width)]
    )
    for word in words:
        room = width - len(line) - 1
        if len(line) + 1 + len(word) > width and line:
            if hyphens and room > 4 and len(word) > room + 3 and word.isalpha():
                lines.append(f"{line} {word[: room - 1]}-")
                line = word[room - 1 :]
                continue
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [Text(said=one, size=size) for one in (*lines, line) if one]


def centred(lines: Sequence[Text], size: tuple[float, float] = A4) -> list[Text]:
    """*lines* with each in the middle of the page."""
    return [replace(t, x=max(36.0, (size[0] - len(t.said) * t.size * 0.5) / 2)) for t in lines]
