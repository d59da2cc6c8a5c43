"""A huge file that comes in parts: what is asked for after a break, and what an answer means.

A download streams into a part file; beside it stands what is needed to go on, a :class:`Part`. This
module decides, by RFC 9110 (sections 13.1.5, 14, 15.3.7, 15.5.17), and writes nothing.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Self

from lafka.filesets.model.types import without_none
from lafka.warc import Fields

_CONTENT_RANGE = re.compile(r"bytes\s+(\d{1,18})-(\d{1,18})/(\d{1,18}|\*)", re.IGNORECASE)
_UNSATISFIED = re.compile(r"bytes\s+\*/(\d{1,18})", re.IGNORECASE)
_WHOLE = re.compile(r"\d{1,18}")


class Step(StrEnum):
    """What an answer to a request for the rest of a file means."""

    GO_ON = "go-on"
    """Its body is what follows the part."""
    BEGIN = "begin"
    """Its body is the whole file: the part is emptied."""
    ASK_ANEW = "ask-anew"
    """It is of no use, and the part neither: ask for all of the file."""
    VERIFY = "verify"
    """Nothing is missing."""
    FAIL = "fail"
    """It says nothing of the file: the part stays for another try."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """How far a download came: ``offset`` bytes are synced. ``length`` None: it was not told.

    ``etag`` and ``last_modified`` are as the first answer had them, ``coding`` its content coding.
    What is coded has no validator: the rest would have to come in the very same coding.
    """

    url: str
    offset: int = 0
    length: int | None = None
    etag: str | None = None
    last_modified: str | None = None
    coding: str | None = None

    @property
    def validator(self) -> str | None:
        """What ``If-Range`` can be given: a strong ETag, else Last-Modified."""
        if self.coding:
            return None
        if self.etag and self.etag.startswith('"'):
            return self.etag
        return self.last_modified

    @property
    def is_whole(self) -> bool:
        return self.length is not None and self.offset == self.length

    def at(self, offset: int) -> Self:
        """With *offset* bytes synced."""
        return replace(self, offset=offset)

    def headers(self) -> dict[str, str]:
        """Request headers that ask for the rest; none where all of it has to be asked for."""
        if not self.offset or self.validator is None:
            return {}
        return {"Range": f"bytes={self.offset}-", "If-Range": self.validator}

    def as_json(self) -> dict[str, Any]:
        return without_none(self)

    def to_bytes(self) -> bytes:
        return json.dumps(self.as_json()).encode() + b"\n"

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """``ValueError`` where *data* is no part's; then the file is begun anew."""
        try:
            value = json.loads(data)
            part = cls(**value)
        except (RecursionError, TypeError) as error:
            raise ValueError(f"no part: {error}") from None
        texts = (part.url, part.etag or "", part.last_modified or "", part.coding or "")
        numbers = (part.offset, part.length or 0)
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("a part holds something that is no text")
        if not all(type(number) is int and number >= 0 for number in numbers):
            raise ValueError("a part holds something that is no whole number")
        return part


def begun(url: str, status: int, headers: Fields) -> Part:
    """The part of a download that begins with a 200 of these *headers*."""
    length = headers.first("Content-Length").strip()
    coding = ",".join(headers.all("Content-Encoding")).lower()
    plain = coding.strip() in _PLAIN
    chunked = "Transfer-Encoding" in headers
    known = status == 200 and plain and not chunked and _WHOLE.fullmatch(length)
    return Part(
        url=url,
        length=int(length) if known else None,
        etag=headers.first("ETag").strip() or None,
        last_modified=headers.first("Last-Modified").strip() or None,
        coding=None if plain else coding,
    )


def step_after(part: Part, status: int, headers: Fields) -> Step:
    """Return what an answer to ``part.headers()`` means."""
    if status == 200:
        return Step.BEGIN
    if status == 206:
        return Step.GO_ON if _follows(part, headers) else Step.ASK_ANEW
    if status == 416:
        found = _UNSATISFIED.fullmatch(headers.first("Content-Range").strip())
        whole = found is not None and int(found[1]) == part.offset
        return Step.VERIFY if whole and part.length in (None, part.offset) else Step.ASK_ANEW
    return Step.FAIL


def _follows(part: Part, headers: Fields) -> bool:
    """Return whether a 206 begins where *part* ends, and is of the same file."""
    if not part.headers() or headers.first("Content-Encoding").strip().lower() not in _PLAIN:
        return False
    found = _CONTENT_RANGE.fullmatch(headers.first("Content-Range").strip())
    if found is None or int(found[1]) != part.offset or int(found[2]) < part.offset:
        return False
    if found[3] != "*":
        length = int(found[3])
        if part.length not in (None, length) or int(found[2]) != length - 1:
            return False
    elif part.length is not None and int(found[2]) != part.length - 1:
        return False
    return all(
        headers.first(name).strip() in ("", known or headers.first(name).strip())
        for name, known in (("ETag", part.etag), ("Last-Modified", part.last_modified))
    )


_PLAIN = ("", "identity")
