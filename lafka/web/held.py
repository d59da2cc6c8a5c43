"""PDFs by Range straight from the paper WARC, paper WARCs up to their end, WACZ made as it is sent.

RFC 9110, sections 13 and 14: one range, strong tags, 206, 304, 416, HEAD.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import queue
import re
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from lafka.errors import BadPid, NotHeld
from lafka.papers import Fut, Pid, package
from lafka.warc.converting.packing import stream
from lafka.warc.format.dates import WarcDate
from lafka.web.answers import PIECE, Stretch, check_asked, sent, told
from lafka.web.site import Site, Withheld

_WAITING = 4  # pieces of a WACZ that are made before they are sent
_SUFFIX = re.compile(r"\.warc\Z")


class BytesOrigin:
    """Handlers of the origin of bytes, for *site*."""

    def __init__(self, site: Site) -> None:
        self._site = site

    # ---- A fut

    def fut(self, request: Request, found: re.Match[str]) -> Response:
        """The PDF of a paper, or of its ``futli``, the latest not after ``time``."""
        check_asked(request, ("futli", "time", "label", "verify"))
        pid = self._site.open_pid(unquote(found["pid"]))
        query = request.query_params
        time = query.get("time", "").removesuffix("Z") or None
        label = None if query.get("label") == "any" else query.get("label", "")
        _, at, fut = self._site.suwaf(pid).fut(query.get("futli"), time, label=label)
        fd = self._site.warc(pid, fut.s + fut.l)
        if query.get("verify") and (wrong := _differs(fd, fut)):
            os.close(fd)
            return told(409, wrong)
        modified = WarcDate.parse(at).datetime.replace(microsecond=0)
        stretch = Stretch(fd=fd, start=fut.s, size=fut.l, etag=f'"{fut.digest}"', modified=modified)
        is_fixed = time is not None and at.removesuffix("Z") == time
        headers = {
            "Content-Type": "application/pdf",
            "Content-Disposition": f"inline; filename*=UTF-8''{name_of(pid)}.pdf",
            "Cache-Control": "private, max-age=31536000, immutable" if is_fixed else "no-cache",
        }
        return sent(request, stretch, headers)

    # ---- A paper WARC

    def warc(self, request: Request, found: re.Match[str]) -> Response:
        """The WARC of the paper whose path this is, up to where its suwaf knows it good."""
        pid = self._pid_at(unquote(_SUFFIX.sub("", found["path"])))
        suwaf = self._site.suwaf(pid)
        fd = self._site.warc(pid, suwaf.end)
        tag = hashlib.sha256(f"{suwaf.chain} {suwaf.end}".encode()).hexdigest()
        stretch = Stretch(fd=fd, start=0, size=suwaf.end, etag=f'"{tag}"')
        headers = {
            "Content-Type": "application/warc",
            "Content-Disposition": f"attachment; filename*=UTF-8''{name_of(pid)}.warc",
            "Cache-Control": "no-cache",
        }
        return sent(request, stretch, headers)

    def _pid_at(self, path: str) -> Pid:
        """The pid whose path *path* is; ``NotHeld`` for any other path, ``Withheld``."""
        archive = self._site.archive
        try:
            pid = archive.scheme.inverse(path) or archive.pid_at(
                archive.root / "warc" / f"{path}.warc"
            )
        except BadPid:
            raise NotHeld("no paper WARC has this path") from None
        if self._site.is_withheld(pid):
            raise Withheld(f"{pid}: withheld")
        return pid

    # ---- A WACZ

    def wacz(self, request: Request, found: re.Match[str]) -> Response:
        """A paper as a WACZ, made as it is sent."""
        pid = self._site.open_pid(unquote(found["pid"]))
        suwaf = self._site.suwaf(pid)
        headers = {
            "Content-Disposition": f"attachment; filename*=UTF-8''{name_of(pid)}.wacz",
            "Content-Type": "application/wacz",
            "Cache-Control": "no-cache",
            "ETag": f'W/"{suwaf.chain}-{suwaf.end}"',
        }
        if request.method == "HEAD":
            return StreamingResponse(_nothing(), headers=headers)  # its length is not known
        made = self._site.piece(pid)
        return StreamingResponse(
            _written(lambda sink: stream(made, sink, package(str(pid)))), headers=headers
        )


# ---- Files


def _differs(fd: int, fut: Fut) -> str:
    """A sentence where the bytes are not those of the suwaf's digest."""
    digest, place, end = hashlib.sha256(), fut.s, fut.s + fut.l
    while place < end:
        data = os.pread(fd, min(PIECE, end - place), place)
        if not data:
            break
        digest.update(data)
        place += len(data)
    found = f"sha256:{digest.hexdigest()}"
    return "" if found == fut.digest else f"the bytes have {found}, not {fut.digest}"


async def _nothing() -> AsyncIterator[bytes]:
    return
    yield b""


class _Gone(Exception):
    """The client has gone."""


async def _written(work: Callable[[Any], object]) -> AsyncIterator[bytes]:
    """Yield the bytes that *work* writes, in a thread, to the sink that it is given."""
    made: queue.Queue[bytes | Exception | None] = queue.Queue(_WAITING)
    gone = threading.Event()

    class Sink:
        def write(self, data: bytes) -> int:
            while not gone.is_set():
                try:
                    made.put(bytes(data), timeout=0.5)
                except queue.Full:
                    continue
                return len(data)
            raise _Gone

    def run() -> None:
        end: Exception | None = None
        try:
            work(Sink())
        except _Gone:
            return
        except Exception as error:
            end = error
        while not gone.is_set():
            try:
                made.put(end, timeout=0.5)
            except queue.Full:
                continue
            return

    threading.Thread(target=run, name="lafka-wacz", daemon=True).start()
    try:
        while (data := await asyncio.to_thread(made.get)) is not None:
            if isinstance(data, Exception):
                raise data
            yield data
    finally:
        gone.set()


def name_of(pid: Pid) -> str:
    """A pid as the name of a file, escaped as RFC 8187 has it."""
    plain = str(pid).encode("ascii", "replace").decode()
    kept = re.sub(r"[^A-Za-z0-9._-]+", "_", plain)
    return kept[:150] or "paper"
