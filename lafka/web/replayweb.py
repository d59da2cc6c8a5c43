"""ReplayWeb.page at an origin of its own, where the operator unpacked it (docs/adr/0022).

The program is another's: two files of the npm package ``replaywebpage``, sent as they are. Scripts
run here, its own and those of archived pages that it replays; they are shut in from outside. All is
shown in a sandboxed frame of our pages alone, whose address has a token for the one paper; each
answer, those of the program's service worker too, has the policies of ``answers.for_replayweb``;
and no other paper has an address here that could be guessed.
"""

from __future__ import annotations

import html
import json
import os
import re
import threading
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import file_digest
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO
from urllib.parse import quote, unquote, urlsplit

from starlette.requests import Request
from starlette.responses import Response

from lafka.errors import BadArgument, NotHeld
from lafka.papers import Pid, package
from lafka.warc.converting.packing import Piece, stream
from lafka.web import answers
from lafka.web.answers import Stretch, sent
from lafka.web.site import Site

NAMES = ("ui", "sw")
_FILES = {"ui": "ui", "program": "sw"}
KEPT = 3
"""WACZ files that are kept for the next range: the program asks for a few of each paper."""
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{pid} - ReplayWeb.page</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>html,body{{height:100%;margin:0}}</style>
<script src="/ui.js"></script></head>
<body><replay-web-page source="/wacz/{token}/{part}.wacz" url="{url}" embed="default"
replayBase="/replay/"></replay-web-page>
<noscript>ReplayWeb.page needs scripts.</noscript></body></html>
"""
_FRAME = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>ReplayWeb.page</title>
<script src="./ui.js"></script></head><body><replay-app-main></replay-app-main></body></html>
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scripts:
    """The scripts of ReplayWeb.page, each by its name without ``.js``."""

    named: dict[str, bytes]

    @classmethod
    def of(cls, folder: Path) -> Scripts:
        """Return what was unpacked in *folder*; ``BadArgument`` where it is not there."""
        scripts = {}
        for name in NAMES:
            path = folder / f"{name}.js"
            try:
                scripts[name] = path.read_bytes()
            except OSError as error:
                told = f"LAFKA_WEB_REPLAYWEB: {path}: {error.strerror}: unpack npm's replaywebpage"
                raise BadArgument(f"{told} there") from None
        return cls(named=scripts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """A WACZ in a file without a name."""

    file: IO[bytes]
    size: int
    etag: str

    @classmethod
    def of(cls, made: list[Piece], title: str) -> _Made:
        file = TemporaryFile(prefix="lafka-wacz-")  # noqa: SIM115  kept for the next range
        try:
            stream(made, file, package(title))
            size = file.tell()
            file.seek(0)
            digest = file_digest(file, "sha256").hexdigest()
        except BaseException:
            file.close()
            raise
        return cls(file=file, size=size, etag=f'"{digest}"')


def url_of(request: Request) -> str:
    """Return the URL at which a replay is to begin; ``BadArgument``."""
    url = request.query_params.get("url", "")
    if url and not url.lower().startswith(("http://", "https://")):
        raise BadArgument("url: neither http nor https")
    return url


def _check_framed(request: Request) -> None:
    """Raise ``BadArgument`` where a browser would show it without a frame, free to go anywhere."""
    if request.headers.get("sec-fetch-dest", "iframe") != "iframe":
        raise BadArgument("open it from the page of the paper")


def _script(data: str | bytes) -> Response:
    return Response(data, media_type="text/javascript", headers={"Cache-Control": "no-cache"})


class ReplayWeb:
    """Handlers of the origin of ReplayWeb.page (*scripts*), for *site*."""

    def __init__(self, site: Site, scripts: Scripts) -> None:
        self._site = site
        self._scripts = scripts.named
        self._files: OrderedDict[tuple[str, str, int], _Made] = OrderedDict()
        self._lock = threading.Lock()

    def page(self, request: Request, found: re.Match[str]) -> Response:
        """A page in which ReplayWeb.page opens the WACZ of a paper at ``url``."""
        _check_framed(request)
        pid = self._pid(request, found)
        self._site.suwaf(pid)
        text = _PAGE.format(
            pid=html.escape(str(pid)), part=quote(str(pid), safe=""), token=found["token"],
            url=html.escape(url_of(request)),
        )  # fmt: skip
        # What another paper's replay left behind here is not for this one.
        headers = {"Clear-Site-Data": '"storage"', "Cache-Control": "no-store"}
        return Response(text, media_type="text/html", headers=headers)

    def _pid(self, request: Request, found: re.Match[str]) -> Pid:
        """Return the paper that is asked for with its token, at its origin; ``NotHeld``."""
        pid = self._site.open_pid(unquote(found["pid"]))
        self._site.tokens.check(pid, found["token"])
        origins = self._site.origins
        own = urlsplit(origins.replayweb_for(pid)).hostname
        if "*" in origins.replayweb and request.url.hostname != own:
            raise NotHeld("no such page")
        return pid

    def frame(self, request: Request, found: re.Match[str]) -> Response:  # noqa: ARG002
        """Return what the program's own worker answers in its frame, where that is not at
        work yet.
        """
        _check_framed(request)
        return Response(_FRAME, media_type="text/html")

    def script(self, request: Request, found: re.Match[str]) -> Response:
        """A script of the program; none is a service worker but by :meth:`worker`."""
        if "service-worker" in request.headers:
            raise NotHeld("no such page")
        return _script(self._scripts[_FILES[found["name"]]])

    def worker(self, request: Request, found: re.Match[str]) -> Response:  # noqa: ARG002
        """The service worker: the program's, in a guard of ours that gives its answers headers."""
        headers = answers.for_replayweb(self._site.origins.pages)
        text = files("lafka.web").joinpath("static/worker.js").read_text("utf-8")
        return _script(text.replace("/*headers*/ {}", json.dumps(headers)))

    def wacz(self, request: Request, found: re.Match[str]) -> Response:
        """A paper as a WACZ, by Range: the program reads the end of the file first."""
        pid = self._pid(request, found)
        with self._lock:
            made = self._made(pid)
            stretch = Stretch(
                fd=os.dup(made.file.fileno()), start=0, size=made.size, etag=made.etag
            )
        return sent(request, stretch, {"Content-Type": "application/wacz"})

    def _made(self, pid: Pid) -> _Made:
        suwaf = self._site.suwaf(pid)
        key = (str(pid), suwaf.chain, suwaf.end)
        if key not in self._files:
            self._files[key] = _Made.of(self._site.piece(pid), str(pid))
            if len(self._files) > KEPT:
                self._files.popitem(last=False)[1].file.close()
        self._files.move_to_end(key)
        return self._files[key]
