"""Bytes of a template -> text: UTF-8 where a line is that, else Windows-1252 as WHATWG has it.

By line, because real files mix encodings; no byte is undefined, so nothing is ever lost.
"""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

_LINES = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n|\Z)")
# No line is UTF-8 and more than ASCII where no two such bytes follow one another.
_PAIR = re.compile(rb"[\xc2-\xf4][\x80-\xbf]")
_SECOND = bytes(range(0x80, 0xC0))
# https://encoding.spec.whatwg.org/index-windows-1252.txt: the five bytes that Python leaves out
# are the C1 controls of the same number.
_WINDOWS_1252 = "".join(
    bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in range(256)
)


class Decoded(NamedTuple):
    """A text, and ``utf-8`` (ASCII included), ``windows-1252`` or ``mixed``."""

    text: str
    encoding: str


def decoded(data: bytes) -> Decoded:
    """The text of *data*, its line ends as they are."""
    try:
        return Decoded(data.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        # Without any such second byte it is Latin-1 too, which is read ten times as fast.
        if len(data.translate(None, _SECOND)) == len(data):
            return Decoded(data.decode("latin-1"), "windows-1252")
        return _by_line(data) if _PAIR.search(data) else Decoded(_old(data), "windows-1252")


def _old(data: bytes) -> str:
    return codecs.charmap_decode(data, "strict", _WINDOWS_1252)[0]


def _by_line(data: bytes) -> Decoded:
    texts: list[str] = []
    utf_8 = False
    for line in _LINES.findall(data):
        try:
            texts.append(line.decode("utf-8"))
            utf_8 = utf_8 or not line.isascii()
        except UnicodeDecodeError:
            texts.append(_old(line))
    return Decoded("".join(texts), "mixed" if utf_8 else "windows-1252")


def with_line_feeds(text: str) -> str:
    """*text* with each line end, CR LF and bare CR too, made LF."""
    text = text.replace("\r\n", "\n")
    return text.replace("\r", "\n") if "\r" in text else text


def lines_of(text: str) -> list[str]:
    """The lines of *text*, whatever ends them; of CR LF the CR may stay as a blank at the end."""
    if "\r" in text and text.count("\r") != text.count("\r\n"):
        text = with_line_feeds(text)
    return text.split("\n")
