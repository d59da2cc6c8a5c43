"""``item.json`` is what the internetarchive library's ``upload`` takes: the library itself says so.

It runs in an environment of its own, through a proxy on loopback that plays archive.org.
"""

from __future__ import annotations

import base64
import hashlib
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from lafka.filesets.model.types import FilesetPlatformItem
from lafka.filesets.targets.folder import FolderTarget, PartFile
from lafka.filesets.targets.item import ItemDescription
from tests.services import apart
from tests.starts import ROOT

FILES = {"a.txt": b"first\n", "sub/b ü.bin": bytes(range(256)) * 40, "Über:all?.csv": b"x,y\n"}
ITEM = FilesetPlatformItem(
    platform_name="zenodo",
    archiveorg_item_name="zenodo.org-4711",
    archiveorg_item_meta={"title": "Däta", "creator": ["A, B", "C, D"], "date": "2026-11-20"},
)
CONFIG = "[s3]\naccess = access-key\nsecret = secret-key\n"
PLAIN = (
    "from internetarchive.session import ArchiveSession; made = ArchiveSession.__init__;"
    "ArchiveSession.__init__ = lambda s, config=None, *a: made("
    "s, {**(config or {}), 'general': {'secure': False}}, *a)\n"
)
"""The stand speaks no TLS, and a file of settings cannot say so: its "False" is a true text."""


class Stand(ThreadingHTTPServer):
    """What archive.org and its S3 endpoint would answer, as a proxy; ``put``: key -> body."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.put: dict[str, bytes] = {}
        self.heads: list[dict[str, str]] = []
        self.others: list[str] = []


class _Handler(BaseHTTPRequestHandler):
    server: Stand

    def do_GET(self) -> None:
        if urlsplit(self.path).netloc != "archive.org":
            self.server.others.append(self.path)
        self._answer(b"{}")

    def do_PUT(self) -> None:
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        digest = base64.b16encode(hashlib.md5(body).digest()).decode().lower()
        if parts.netloc != "s3.us.archive.org" or self.headers["Content-MD5"] != digest:
            self.server.others.append(self.path)
        self.server.put[unquote(parts.path)] = body
        self.server.heads.append({name.lower(): value for name, value in self.headers.items()})
        self._answer(b"")

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def stand() -> Iterator[Stand]:
    with Stand() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.server("archive.org's library")
def test_the_library_uploads_an_item_as_it_is(stand: Stand, tmp_path: Path) -> None:
    described = ItemDescription.of(ITEM, list(FILES), collection="datasets")
    item = FolderTarget(tmp_path).item(described, "fileset:zenodo:zenodo.org:4711")
    item.make()
    for path, body in FILES.items():
        part = PartFile(item.final(path))
        part.take_up("https://zenodo.org/")
        part.write(body)
        assert part.keep()
    item.finish()
    page = (ROOT / "docs" / "how-to" / "upload-an-item-to-archive-org.md").read_text("utf-8")
    [lines] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (item.path / "upload.py").write_text(PLAIN + lines, "utf-8")
    (tmp_path / "ia.ini").write_text(CONFIG)
    proxy = f"http://127.0.0.1:{stand.server_address[1]}"
    done = apart.python(
        "ia", "upload.py", cwd=item.path, http_proxy=proxy, https_proxy=proxy,
        IA_CONFIG_FILE=str(tmp_path / "ia.ini"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert stand.others == []
    assert stand.put == {f"/zenodo.org-4711/{path}": body for path, body in FILES.items()}
    assert done.stdout.count("200 ") == len(FILES)
    told = stand.heads[0]
    assert told["authorization"] == "LOW access-key:secret-key"
    assert told["x-archive-meta00-collection"] == "datasets"
    assert told["x-archive-meta00-title"] == f"uri({'D%C3%A4ta'})"
    assert [told[f"x-archive-meta0{n}-creator"] for n in range(2)] == [
        "uri(A%2C%20B)", "uri(C%2C%20D)",
    ]  # fmt: skip
    assert told["x-archive-queue-derive"] == "0"
