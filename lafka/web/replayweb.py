"""ReplayWeb.page at an origin of its own, where the operator unpacked it (docs/adr/0022).

The program is another's: two files of the npm package ``replaywebpage``, sent as they are. Scripts
run here, its own and those of archived pages that it replays, so this origin has nothing of ours
but the page that starts it, and nothing of others but WACZ files that anybody may have.
"""

from __future__ import annotations

import html
import os
import re
import threading
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO
from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.responses import Response

from lafka.errors import BadArgument
from lafka.papers import Pid, package
from lafka.warc.converting.packing import Piece, stream
from lafka.web.held import Stretch, sent
from lafka.web.site import Site

NAMES = ("ui", "sw")
KEPT = 3
"""WACZ files that are kept for the next range: the program asks for a few of each paper."""
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{pid} - ReplayWeb.page</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>html,body{{height:100%;margin:0}}</style>
<script src="/ui.js"></script></head>
<body><replay-web-page source="/wacz/{part}.wacz" url="{url}" embed="default" replayBase="/replay/">
</replay-web-page><noscript>ReplayWeb.page needs scripts.</noscript></body></html>
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
        """What was unpacked in *folder*; ``BadArgument`` where it is not there."""
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


class ReplayWeb:
    """Handlers of the origin of ReplayWeb.page (*scripts*), for *site*."""

    def __init__(self, site: Site, scripts: Scripts) -> None:
        self._site = site
        self._scripts = scripts.named
        self._files: OrderedDict[tuple[str, str, int], _Made] = OrderedDict()
        self._lock = threading.Lock()

    def page(self, request: Request, found: re.Match[str]) -> Response:
        """A page in which ReplayWeb.page opens the WACZ of a paper at ``url``."""
        pid = self._site.open_pid(unquote(found["pid"]))
        self._site.suwaf(pid)
        url = request.query_params.get("url", "")
        if url and not url.lower().startswith(("http://", "https://")):
            raise BadArgument("url: neither http nor https")
        text = _PAGE.format(
            pid=html.escape(str(pid)), part=quote(str(pid), safe=""), url=html.escape(url)
        )
        return Response(text, media_type="text/html")

    def frame(self, request: Request, found: re.Match[str]) -> Response:  # noqa: ARG002
        """What the program's own worker answers in its frame, where that is not at work yet."""
        return Response(_FRAME, media_type="text/html")

    def script(self, request: Request, found: re.Match[str]) -> Response:  # noqa: ARG002
        headers = {"Cache-Control": "no-cache"}
        return Response(self._scripts[found["name"]], media_type="text/javascript", headers=headers)

    def wacz(self, request: Request, found: re.Match[str]) -> Response:
        """A paper as a WACZ, by Range: the program reads the end of the file first."""
        pid = self._site.open_pid(unquote(found["pid"]))
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
