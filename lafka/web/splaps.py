"""Archived splash pages, shown in a frame in which they can do nothing.

Archived HTML is a stranger's program: no script of it runs, no request leaves the browser because
of it, and it is never taken for ours. What is shown is a neutral copy: elements and attributes of
an allow-list alone (nh3), links without a target to go to, pictures by their words. The policies of
the answer are the second wall, the frame without rights around it the third.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from tempfile import TemporaryFile
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import Response

from lafka.errors import BadArgument, NotHeld
from lafka.papers import Pid
from lafka.payloads import Kind, kind_of
from lafka.warc import StoredRecord
from lafka.web.answers import Stretch, sent
from lafka.web.held import name_of
from lafka.web.neutral import Cleaners
from lafka.web.site import Site

LONGEST_PAGE = 2 << 20
"""Bytes of a page that are shown; more is cut, and said so."""
LARGEST = 64 << 20
"""Bytes of anything coded that are undone to be handed on as a file."""
_RECORD = re.compile(r"<?urn:uuid:[0-9a-fA-F-]{36}>?")
_PREFIX = 4 << 10


class Splaps:
    """Handlers of archived pages of *site*."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._cleaners = Cleaners()

    def splap(self, request: Request, found: re.Match[str]) -> Response:
        """The capture of a paper by its record id: a page shut in, anything else as a file."""
        pid = self._site.open_pid(unquote(found["pid"]))
        wanted = unquote(found["record"])
        if not _RECORD.fullmatch(wanted):
            raise BadArgument("that is no record id")
        with self._site.volume(pid, self._site.suwaf(pid).end) as volume:
            for record in volume.records(("response", "resource", "conversion")):
                if record.id.strip("<>") == wanted.strip("<>"):
                    return self._shown(request, record, pid)
        raise NotHeld(f"{pid}: it has no such record")

    def _shown(self, request: Request, record: StoredRecord, pid: Pid) -> Response:
        """*record* as it may be shown in a frame, or handed on."""
        kind, charset = described(record)
        data, cut = _beginning(record.payload(decoded=True), LONGEST_PAGE)
        if kind_of(data[:_PREFIX], kind) is Kind.HTML:
            copy = self._cleaners.clean(data, charset, cut=cut)
            return Response(copy, media_type="text/html")
        return handed_on(request, self._site, record, pid)


def handed_on(request: Request, site: Site, record: StoredRecord, pid: Pid) -> Response:
    """The payload of *record* as a file, under a type in which no browser runs anything."""
    fd, start, size = _payload(site, record, pid)
    beginning = os.pread(fd, min(size, 1024), start)
    modified = record.date.datetime.replace(microsecond=0) if record.date else None
    etag = f'"{record.id.strip("<>")}"'
    stretch = Stretch(fd=fd, start=start, size=size, etag=etag, modified=modified)
    if b"%PDF-" in beginning:
        return sent(request, stretch, {"Content-Type": "application/pdf"})
    kind = "octet-stream" if b"\0" in beginning or described(record)[0] == "text/html" else ""
    return sent(request, stretch, {
        "Content-Type": f"application/{kind}" if kind else "text/plain; charset=utf-8",
        "Content-Disposition": f"attachment; filename*=UTF-8''{name_of(pid)}",
    })  # fmt: skip


def _payload(site: Site, record: StoredRecord, pid: Pid) -> tuple[int, int, int]:
    """A descriptor of the payload, codings undone, where it begins and how long it is there."""
    place = record.payload_place
    if place and not (record.http and record.http.content_codings):
        return site.warc(pid, sum(place)), *place
    with TemporaryFile(prefix="lafka-memento-") as file:
        for piece in record.payload(decoded=True):
            file.write(piece)
            if file.tell() > LARGEST:
                raise NotHeld(f"over {LARGEST >> 20} MiB: the WARC has it whole")
        file.flush()
        return os.dup(file.fileno()), 0, file.tell()


def described(record: StoredRecord) -> tuple[str, str]:
    """Media type and charset of what *record* holds, cleaned; empty where they are not told."""
    head = record.http
    told = head.fields.first("Content-Type") if head else record.fields.first("Content-Type")
    kind, _, rest = (told or "").partition(";")
    charset = re.search(r"charset\s*=\s*[\"']?([A-Za-z0-9._:-]{1,40})", rest, re.IGNORECASE)
    return kind.strip().lower(), charset[1] if charset else ""


def _beginning(pieces: Iterator[bytes], most: int) -> tuple[bytes, bool]:
    """The first *most* bytes of *pieces*, and whether there are more."""
    data = bytearray()
    for piece in pieces:
        data += piece
        if len(data) > most:
            return bytes(data[:most]), True
    return bytes(data), False
