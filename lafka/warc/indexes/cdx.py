"""CDX and CDXJ: sorted lines, one for each capture.

CDX begins with a legend, which names the columns by letters; the Internet Archive writes 11 of them
today and wrote 9 before (IIPC, The CDX File Format, 2015). Others are read as far as their letters
are known.

CDXJ has a key, a date of 14 digits and a JSON object on a line. Written as pywb and WACZ have it,
with keys of our own beside theirs: ``type``, ``id``, ``date`` (WARC-Date where it is finer than a
second), ``inner``, ``payload_offset``, ``payload_length``. Read in the forms of OpenWayback and
InterPlanetary Wayback, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..errors import BadIndex, BadValue
from ..format.dates import WarcDate
from .base import REVISIT_MIME, Entry
from .lines import LineBuilder, LineIndex, whole_number, word
from .surts import surt

LEGENDS = {9: tuple("NbamskrVg"), 11: tuple("NbamskrMSVg")}
"""The columns of a CDX file, by how many they are: key N, date b, URL a, media type m, status s,
digest k, redirect r, meta M, length S, offset V, file name g."""
_LEGEND = re.compile(rb"(?:(?P<one>.)(?=CDX(?P=one)))?CDX([^A-Za-z0-9])", re.DOTALL)
"""The delimiter, ``CDX``, the delimiter; the oldest ones leave the first out."""


def legend_of(line: bytes) -> tuple[str, tuple[str, ...]] | None:
    """The delimiter and the letters in a legend; None where *line* is none."""
    found = _LEGEND.match(line)
    if not found:
        return None
    delimiter = found[2].decode("latin-1")
    letters = line[found.end() :].decode("latin-1").rstrip()
    return delimiter, tuple(filter(None, letters.split(delimiter)))


def columns(line: bytes) -> tuple[str, ...] | None:
    """The legend that *line*, the first of a file without one, has by its number of words."""
    return LEGENDS.get(len(line.split(b" ")))


class CdxIndex(LineIndex):
    """A CDX file. ``BadIndex`` where nothing tells what its columns are."""

    has_ids = False

    def read_head(self, lines: Iterable[bytes]) -> None:
        first = next(iter(lines), b"")
        found = legend_of(first)
        letters = found[1] if found else columns(first)
        if not letters and first:
            raise BadIndex(self._path, "no legend, and neither 9 nor 11 columns", 0)
        self._letters = letters or LEGENDS[11]
        self.delimiter = found[0].encode("latin-1") if found else b" "
        if self._letters[0] != "N":
            self._foreign = True

    def parse(self, line: bytes) -> Entry | None:
        if legend_of(line):
            return None
        words = line.decode("utf-8", "surrogateescape").split(self.delimiter.decode("latin-1"))
        if len(words) != len(self._letters):
            raise ValueError(f"{len(words)} columns instead of {len(self._letters)}")
        values = {k: v for k, v in zip(self._letters, words, strict=True) if v != "-"}
        url = values.get("a") or values.get("A", "")
        mime = values.get("m", "")
        return Entry(
            key=values.get("N") or surt(url),
            url=url,
            date=date_in(values.get("b", "")),
            type="revisit" if mime == REVISIT_MIME else "",
            mime=mime,
            status=status_in(values.get("s", "")),
            digest=values.get("k", ""),
            volume=values.get("g", ""),
            offset=whole_number(values.get("V") or values.get("v")),
            length=whole_number(values.get("S")),
        )


def date_in(text: str) -> WarcDate | None:
    """The date in a column, None for none; ``ValueError``."""
    try:
        return WarcDate.parse(text) if text not in ("", "-") else None
    except BadValue as error:
        raise ValueError(str(error)) from None


def status_in(text: object) -> int | None:
    """The HTTP status in a column, None where it holds none."""
    text = str(text)
    return int(text) if len(text) == 3 and text.isascii() and text.isdigit() else None


class CdxBuilder(LineBuilder):
    """Writes a CDX file of *fields* columns, 9 or 11."""

    def __init__(self, path: Path, fields: int = 11) -> None:
        super().__init__(path)
        self._letters = LEGENDS[fields]

    @property
    def head(self) -> bytes:
        return f" CDX {' '.join(self._letters)}\n".encode("ascii")

    def line(self, entry: Entry) -> bytes:
        values = {
            "N": entry.key,
            "b": entry.date.digits14 if entry.date else "-",
            "a": word(entry.url),
            "m": word(entry.mime),
            "s": "-" if entry.status is None else str(entry.status),
            # By custom SHA-1 has no label.
            "k": word(entry.digest.removeprefix("sha1:")),
            "r": "-",
            "M": "-",
            "S": "-" if entry.length is None else str(entry.length),
            "V": "-" if entry.offset is None else str(entry.offset),
            "g": word(entry.volume),
        }
        return (" ".join(values[letter] for letter in self._letters) + "\n").encode()


def cdx9(path: Path) -> CdxBuilder:
    """A builder of 9 columns."""
    return CdxBuilder(path, 9)


CDXJ_LINE = re.compile(rb"([!-~]\S*) (\S+)(?: ([a-z]+))? (\{.*\})\s*")
"""Key, date, the type that OpenWayback has there, and the object."""
_URLS = ("url", "uri", "original_uri")
_MIMES = ("mime", "mct", "mime_type")
_STATUSES = ("status", "hsc", "status_code")
_DIGESTS = ("digest", "sha", "payload_digest")
_LENGTHS = ("length", "rle")
_VOLUMES = ("filename", "locator")
_IDS = ("id", "rid", "recordId")
_REFERENCE = re.compile(r"(?:warcfile:)?(.+)#(\d{1,18})", re.ASCII | re.DOTALL)


class CdxjIndex(LineIndex):
    """A CDXJ file; lines that begin with ``!`` tell about it and are passed over."""

    def parse(self, line: bytes) -> Entry | None:
        found = CDXJ_LINE.fullmatch(line)
        if line.startswith((b"!", b"@")) and (found is None or found[2].startswith((b"{", b"["))):
            return None  # keys may begin so, too
        if not found:
            raise ValueError("not a key, a date and a JSON object")
        try:
            values = json.loads(found[4])
        except (ValueError, RecursionError):
            raise ValueError("its object is no JSON") from None
        key, date = found[1].decode("utf-8", "surrogateescape"), found[2].decode("latin-1")
        return _entry(key, date, (found[3] or b"").decode("ascii"), values)


def _entry(key: str, date: str, kind: str, values: dict[str, Any]) -> Entry:
    url, mime = _text(values, _URLS), _text(values, _MIMES).removeprefix("-")
    volume, offset = _text(values, _VOLUMES), whole_number(values.get("offset"))
    if reference := _REFERENCE.fullmatch(_text(values, ("ref",))):
        volume, offset = reference[1], int(reference[2])
    return Entry(
        key=key if key.isascii() else surt(url),
        url=url,
        date=date_in(_text(values, ("date",)) or date),
        type=kind or _text(values, ("type",)) or ("revisit" if mime == REVISIT_MIME else ""),
        record_id=_text(values, _IDS),
        mime=mime,
        status=status_in(_text(values, _STATUSES)),
        digest=_text(values, _DIGESTS).removeprefix("-"),
        volume=volume,
        offset=offset,
        inner=whole_number(values.get("inner")) or 0,
        length=whole_number(_first(values, _LENGTHS)),
        payload_offset=whole_number(values.get("payload_offset")),
        payload_length=whole_number(values.get("payload_length")),
    )


def _first(values: dict[str, Any], names: tuple[str, ...]) -> Any:
    for name in names:
        value = values.get(name)
        if value is not None and value != "":
            return value
    return None


def _text(values: dict[str, Any], names: tuple[str, ...]) -> str:
    value = _first(values, names)
    return "" if value is None or isinstance(value, dict | list) else str(value)


class CdxjBuilder(LineBuilder):
    """Writes a CDXJ file."""

    def line(self, entry: Entry) -> bytes:
        date = entry.date.digits14 if entry.date else "-"
        text = json.dumps(_values(entry), ensure_ascii=True)
        return f"{entry.key} {date} {text}\n".encode("ascii")


def _values(entry: Entry) -> dict[str, str]:
    """Texts, numbers too, as pywb writes them; what is not known is left out."""
    date = entry.date.text if entry.date and entry.date.text[19:] not in ("", "Z") else ""
    given = {
        "url": entry.url,
        "mime": entry.mime,
        "status": entry.status,
        "digest": entry.digest,
        "length": entry.length,
        "offset": entry.offset,
        "filename": entry.volume,
        "type": entry.type,
        "id": entry.record_id,
        "date": date,
        "inner": entry.inner or None,
        "payload_offset": entry.payload_offset,
        "payload_length": entry.payload_length,
    }
    return {name: str(value) for name, value in given.items() if value not in (None, "")}
