"""CDXJ: a key, a date of 14 digits and a JSON object on a line for each capture.

Written as pywb and WACZ have it, with keys of our own beside theirs: ``type``, ``id``, ``date``
(WARC-Date where it is finer than a second), ``inner``, ``payload_offset``, ``payload_length``. Read
in the forms of OpenWayback and InterPlanetary Wayback, too.
"""

from __future__ import annotations

import json
import re
from typing import Any

from .base import REVISIT_MIME, Entry
from .cdx import date_in, status_in
from .lines import LineBuilder, LineIndex, whole_number
from .surts import surt

LINE = re.compile(rb"([!-~]\S*) (\S+)(?: ([a-z]+))? (\{.*\})\s*")
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
        found = LINE.fullmatch(line)
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
