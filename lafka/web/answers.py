"""Answers with the headers that those of each origin have (docs/security.md, "Web pages")."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
from collections.abc import AsyncIterator, Collection, Container, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from lafka.errors import BadArgument, printable
from lafka.urls.memento import http_date
from lafka.web import ranges

STALL = 60.0
"""Seconds in which a client has to take what was sent before the next piece is."""
PIECE = 256 * 1024
"""Bytes of a file that are sent before it is seen whether the client takes them."""
AHEAD = 4 << 20
"""Bytes of a file that the system is told to read before they are sent."""
ZERO_COPY = "http.response.zerocopysend"
"""https://asgi.readthedocs.io/en/latest/extensions.html, "Zero Copy Send"; the file a number."""
_EVERYWHERE = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": (
        "accelerometer=(), camera=(), geolocation=(), gyroscope=(), magnetometer=(),"
        " microphone=(), payment=(), usb=()"
    ),
}


def for_pages(framed: str) -> dict[str, str]:
    """Headers of our pages: no script at all, frames from *framed* alone, never framed."""
    policy = (
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self';"
        f" base-uri 'none'; frame-ancestors 'none'; frame-src {framed}"
    )
    return {
        **_EVERYWHERE,
        "Content-Security-Policy": policy,
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "X-Frame-Options": "DENY",
    }


def for_bytes(pages_at: str) -> dict[str, str]:
    """Headers of what others wrote: nothing runs, nothing is fetched, framed by our pages alone."""
    policy = (
        "sandbox; default-src 'none'; style-src 'unsafe-inline' data:; img-src data:;"
        " font-src data:; form-action 'none'; base-uri 'none';"
        f" frame-ancestors {pages_at}"
    )
    return {
        **_EVERYWHERE,
        "Content-Security-Policy": policy,
        "Cross-Origin-Resource-Policy": "same-site",
    }


SANDBOX = "allow-scripts allow-same-origin"
"""Rights of a frame in which scripts of archived pages run: no popup, no form, no way to top.

The origin is ReplayWeb.page's own; without it the program's worker would not answer its frames.
"""


def for_replayweb(pages_at: str) -> dict[str, str]:
    """Headers of ReplayWeb.page: scripts run, and reach nothing but this origin."""
    policy = (
        f"sandbox {SANDBOX}; default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:;"
        " connect-src 'self' data: blob:; form-action 'none'; base-uri 'self';"
        f" frame-ancestors 'self' {pages_at}"
    )
    return {
        **_EVERYWHERE,
        "Content-Security-Policy": policy,
        "Connection-Allowlist": "(response-origin); redirects=allow; webrtc=block",
        "Cross-Origin-Resource-Policy": "same-origin",
        "X-DNS-Prefetch-Control": "off",
    }


_TEXTS = ("text/", "application/json", "application/link-format", "application/atom+xml")
_LEAST = 1024


def compress(request: Request, response: Response) -> None:
    """Compress *response* by gzip where that helps: text of ours, of no secret, asked for so."""
    kind = response.headers.get("content-type", "")
    is_text = kind.startswith(_TEXTS) and len(getattr(response, "body", b"")) > _LEAST
    marked = {"accept-ranges", "content-encoding"}.intersection(response.headers)
    if not is_text or marked or response.headers.get("cache-control") == "no-store":
        return
    response.headers.add_vary_header("Accept-Encoding")
    if takes_gzip(request):
        response.body = gzip.compress(bytes(response.body), 6, mtime=0)
        response.headers["Content-Encoding"] = "gzip"
        response.headers["Content-Length"] = str(len(response.body))


def takes_gzip(request: Request) -> bool:
    return "gzip" in request.headers.get("accept-encoding", "")


def told(status: int, sentence: str, **headers: str) -> Response:
    """A refusal: one sentence, as text."""
    text = f"{printable(sentence)}\n"
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(text, status_code=status, media_type="text/plain", headers=named)


def refusal(
    request: Request, hosts: Container[str], *, longest: int, headers_max: int = 1 << 30
) -> Response | None:
    """The answer to what is not asked as it has to be; None where it is.

    *hosts*: values of Host without a port, ``*.b.example`` for each name of a domain.
    """
    host = request.headers.get("host", "").rpartition(":")
    name = (host[0] if host[1] and host[2].isdigit() else "".join(host)).lower()
    if name not in hosts and f"*.{name.partition('.')[2]}" not in hosts:
        return told(421, "this server is not asked by that Host")
    if request.method not in ("GET", "HEAD"):
        return told(405, "GET and HEAD alone: nothing can be changed here", Allow="GET, HEAD")
    if len(request.scope["raw_path"]) + len(request.scope["query_string"]) > longest:
        return told(414, f"an address of over {longest} bytes")
    if len(request.scope["headers"]) > headers_max:
        return told(431, f"more than {headers_max} headers")
    return None


def as_json(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    text = json.dumps(value, ensure_ascii=False, indent=1, default=str)
    data = f"{text}\n".encode("utf-8", "backslashreplace")  # JSON's own escapes of surrogates
    return Response(
        data, status_code=status, media_type="application/json", headers=dict(headers or {})
    )


# ---- Files


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """``size`` bytes at ``start`` of the open file ``fd``, tagged ``etag``, with its quotes.

    ``modified``: since when they are so.
    """

    fd: int
    start: int
    size: int
    etag: str
    modified: datetime | None = None


def sent(request: Request, stretch: Stretch, headers: dict[str, str]) -> Response:
    """Return what *request* gets of *stretch*, whose descriptor is closed whatever comes of it."""
    answer = ranges.answer(request.headers, stretch.etag, stretch.size,
                           modified=stretch.modified, method=request.method)  # fmt: skip
    headers |= {"ETag": stretch.etag, "Accept-Ranges": "bytes"}
    if stretch.modified:
        headers["Last-Modified"] = http_date(stretch.modified)
    if answer.content_range:
        headers["Content-Range"] = answer.content_range
    length = answer.end - answer.start
    if answer.status in (200, 206):
        headers["Content-Length"] = str(length)
    if answer.status == 304:
        headers.pop("Content-Type", None)
    if request.method == "HEAD" or not length:
        os.close(stretch.fd)
        return Response(status_code=answer.status, headers=headers)
    if length <= PIECE:
        try:
            data = os.pread(stretch.fd, length, stretch.start + answer.start)
        finally:
            os.close(stretch.fd)
        return Response(data, status_code=answer.status, headers=headers)
    start = stretch.start + answer.start
    # The kernel sends in the thread of all; what it needs first is read while we get there.
    os.posix_fadvise(stretch.fd, start, min(length, AHEAD), os.POSIX_FADV_WILLNEED)
    end = start + length
    return Pieces(_read(stretch.fd, start, end), stretch.fd, (start, end), answer.status, headers)


async def _read(fd: int, start: int, end: int) -> AsyncIterator[bytes]:
    while start < end:
        data = await asyncio.to_thread(os.pread, fd, min(PIECE, end - start), start)
        if not data:
            return  # it was cut meanwhile: the length that was told shows it
        start += len(data)
        yield data


class Pieces(StreamingResponse):
    """A stretch of a file, its first byte and that behind its last; closed whatever ends it.

    By the kernel where the server can (ASGI's extension ``http.response.zerocopysend``), else as
    *pieces* give it.
    """

    def __init__(
        self,
        pieces: AsyncIterator[bytes],
        fd: int,
        stretch: tuple[int, int],
        status: int,
        headers: Mapping[str, str],
    ) -> None:
        super().__init__(pieces, status_code=status, headers=headers)
        self._fd = fd
        self._stretch = stretch

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if ZERO_COPY in scope.get("extensions", ()):
                await self._zero_copied(send)
            else:
                await super().__call__(scope, receive, send)
        finally:
            os.close(self._fd)

    async def _zero_copied(self, send: Send) -> None:
        await send({
            "type": "http.response.start", "status": self.status_code, "headers": self.raw_headers
        })  # fmt: skip
        place, end = self._stretch
        while place < end:
            count = min(PIECE, end - place)
            await send({
                "type": ZERO_COPY, "file": self._fd, "offset": place, "count": count,
                "more_body": place + count < end,
            })  # fmt: skip
            place += count


def check_asked(request: Request, known: Collection[str], several: Container[str] = ()) -> None:
    """``BadArgument`` for a parameter that is none of *known*, or is given twice and not one of
    *several*: no answer passes one over.
    """
    names = [name for name, _ in request.query_params.multi_items()]
    for name in sorted(names):
        if name not in known:
            there = f"which are {', '.join(sorted(known))}" if known else "there are none"
            raise BadArgument(f"{name[:40]}: no parameter, {there}")
        if names.count(name) > 1 and name not in several:
            raise BadArgument(f"{name}: it is given twice")


def within(send: Send) -> Send:
    """*send*, given up after :data:`STALL` seconds where a client takes nothing."""

    async def sent(message: Any) -> None:
        async with asyncio.timeout(STALL):  # wait_for would make a task for each piece
            await send(message)

    return sent
