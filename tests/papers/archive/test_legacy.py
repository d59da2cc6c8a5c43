"""Archives of the first Lafka: one wget 1.21 a capture, its WARCs put one after the other."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import socketserver
import subprocess
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from lafka.errors import BadPid, BadWarc
from lafka.papers.archive.archives import Archive
from lafka.papers.archive.contents import PaperScanner
from lafka.warc.reading.volumes import Volume
from tests.sites.loopback import QuietHandler, serving
from tests.stores import START, Store, chunked, cuts, files, page, pdf, problems, warcio_faults

pytestmark = pytest.mark.skipif(not shutil.which("wget"), reason="wget is not on this machine")

OF_WGET = (
    "stored-twice", "unknown-field", "payload-digest-unsure", "torn-aside", "raw-left",
)  # fmt: skip


class Site(QuietHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        kind, _, name = self.path.strip("/").partition("/")
        if kind == "away":
            self.answer(302, {"Location": f"/literal/{name}"}, b"")
        elif kind == "gone":
            self.answer(404, {"Content-Type": "text/html"}, page("404"))
        elif kind == "splap":
            self.answer(200, {"Content-Type": "text/html"}, page(name))
        elif kind == "chunked":
            body = chunked(pdf(name), trailers=b"X-Sum: 1\r\n")
            self.answer(200, {"Transfer-Encoding": "chunked"}, body, framed=True)
        elif kind == "gzip":
            body = gzip.compress(pdf(name), mtime=0)
            self.answer(200, {"Content-Encoding": "gzip"}, body)
        else:
            self.answer(200, {"Content-Type": "application/pdf"}, pdf(name))

    def answer(
        self, status: int, fields: dict[str, str], body: bytes, *, framed: bool = False
    ) -> None:
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        if not framed:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Ftp(socketserver.StreamRequestHandler):
    """As little of FTP (RFC 959) as wget needs to fetch one file."""

    def handle(self) -> None:
        self.say("220 hello")
        with socketserver.TCPServer(("127.0.0.1", 0), socketserver.BaseRequestHandler) as data:
            port = data.socket.getsockname()[1]
            for line in self.rfile:
                verb, _, value = line.decode().strip().partition(" ")
                if verb == "PASV":
                    self.say(f"227 Passive (127,0,0,1,{port // 256},{port % 256})")
                elif verb == "RETR":
                    self.say("150 coming")
                    connection, _ = data.socket.accept()
                    with connection:
                        connection.sendall(pdf(value.rpartition("/")[2]))
                    self.say("226 done")
                elif verb == "SIZE":
                    self.say(f"213 {len(pdf(value.rpartition('/')[2]))}")
                elif verb == "QUIT":
                    self.say("221 bye")
                    return
                else:
                    self.say(
                        {"USER": "331 and", "PASS": "230 in", "SYST": "215 UNIX", "PWD": '257 "/"',
                         "TYPE": "200 so", "CWD": "250 there"}.get(verb, "500 what")
                    )  # fmt: skip

    def say(self, line: str) -> None:
        self.wfile.write(line.encode() + b"\r\n")


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with serving(Site) as address:
        yield address


@pytest.fixture(scope="module")
def ftp() -> Iterator[str]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Ftp) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"ftp://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


class First:
    """The first Lafka's way of writing."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root = root
        self.folder = folder

    def fetch(self, name: str, pid: str, url: str, **fields: str) -> Path:
        """Append a capture of *url* to the WARC called *name*."""
        headers = {"Paper-Id": pid, "Futli": fields.pop("futli", url), **fields}
        lines = [f"--warc-header={key.replace('_', '-')}: {text}" for key, text in headers.items()]
        subprocess.run(
            ["wget", "-q", "--no-proxy", "--no-config", "--warc-file", "X",
             "--no-warc-compression", "--no-warc-keep-log", "-O", os.devnull, "--tries=1",
             "--timeout=20", *lines, url],
            cwd=self.folder, check=False, env={"PATH": os.environ["PATH"]},
        )  # fmt: skip
        path = self.root / "warc" / f"{name}.warc"
        path.parent.mkdir(parents=True, exist_ok=True)
        made = self.folder / "X.warc"
        with path.open("ab") as file:
            file.write(made.read_bytes())
        made.unlink()
        return path


@pytest.fixture
def first(tmp_path: Path) -> First:
    (tmp_path / "wget").mkdir()
    return First(tmp_path / "archive", tmp_path / "wget")


def taken_over(root: Path) -> Archive:
    """What ``scrapy rebuild --adopt`` does."""
    archive = Archive.create(root)
    for warc in list(archive.warcs()):
        try:
            pid = archive.pid_at(warc)
        except BadPid:
            pid = archive.adopt(warc)
        archive.rebuild(pid)
    return archive


def test_an_archive_of_the_first_lafka_is_taken_over(first: First, site: str, ftp: str) -> None:
    base, name = "RePEc:aaa:bbbbbb", "RePEc/aaa/bbbbbb"
    first.fetch(f"{name}/1", f"{base}:1", f"{site}/literal/1")
    first.fetch(f"{name}/1", f"{base}:1", f"{site}/away/1")
    first.fetch(f"{name}/1", f"{base}:1", f"{site}/plain/1")
    first.fetch(f"{name}/2", f"{base}:2", f"{site}/splap/2")
    first.fetch(
        f"{name}/2", f"{base}:2", f"{site}/chunked/2", futli=f"{site}/splap/2",
        HTML_Url=f"{site}/splap/2", HTML_Date="2014-05-06T07:08:09Z",
    )  # fmt: skip
    first.fetch(f"{name}/3", f"{base}:3", f"{site}/gzip/3")
    first.fetch(f"{name}/4", f"{base}:4", f"{site}/gone/4")
    first.fetch(f"{name}/4", f"{base}:4", f"{ftp}/4.pdf")
    first.fetch(f"{name}/5", "repec:AAA:bbbbbb:5", f"{site}/literal/5")
    upper = first.fetch(f"{name}/v%3A3%3Ai%3A1S", f"{base}:v:3:i:1S", f"{site}/literal/6")
    before = files(first.root / "warc")

    archive = taken_over(first.root)

    def held(number: str) -> list[bytes]:
        return list(cuts(archive, f"{base}:{number}").values())

    assert held("1") == [pdf("1")] * 3
    assert len({(fut.s, fut.l) for times in archive.suwaf(f"{base}:1").futlis.values()
                for fut in times.values()}) == 1  # fmt: skip
    assert held("2") == [pdf("2")]
    assert held("3") == [pdf("3")]
    assert held("4") == [pdf("4.pdf")]
    assert held("5") == [pdf("5")]
    assert held("v:3:i:1S") == [pdf("6")]
    assert not upper.exists()
    [(futli, times)] = archive.suwaf(f"{base}:2").futlis.items()
    [found] = times.values()
    assert futli == f"{site}/splap/2"
    assert (found.url, found.origin.html_url) == (f"{site}/chunked/2", f"{site}/splap/2")
    assert found.origin.html_date == "2014-05-06T07:08:09Z"
    assert archive.fut(f"{base}:4").url == f"{ftp}/4.pdf"
    for path, data in files(first.root / "warc").items():
        old = before[path.replace("%53", "S")]
        assert data.startswith(old)
        added = {f"{name}/2.warc", f"{name}/3.warc"}  # a conversion
        assert (data != old) == (path in added)
    assert problems(first.root, *OF_WGET) == []
    for warc in archive.warcs():
        assert warcio_faults(warc) == []
    again = files(first.root)
    taken_over(first.root)
    assert files(first.root) == again


def test_a_crawl_goes_on_and_stores_nothing_again(first: First, site: str) -> None:
    pid, name = "RePEc:aaa:bbbbbb:1", "RePEc/aaa/bbbbbb/1"
    for path in ("/literal/1", "/chunked/2", "/gzip/3", "/splap/4"):
        first.fetch(name, pid, site + path)
    archive = taken_over(first.root)
    [warc] = archive.warcs()
    size = warc.stat().st_size
    store = Store(first.root)
    splap = store.splap(page("4"), pid=pid, futli=f"{site}/splap/4")
    store.put(splap)
    assert warc.stat().st_size == size
    for number, kind in enumerate(("literal", "chunked", "junk-led"), 1):
        futli = f"{site}/{['literal', 'chunked', 'gzip'][number - 1]}/{number}"
        at = START + timedelta(days=number)
        [added] = store.put(store.fut(pdf(str(number)), kind, pid=pid, futli=futli, at=at))
        assert not added.new
    [added] = store.put(store.found(splap, "http://x.example/new", pdf("new"), "gzip"))
    assert added.new
    data = warc.read_bytes()
    for number in "123":
        assert data.count(pdf(number)) == 1
    assert len(cuts(archive, pid)) == 7
    kept = archive.suwaf_path(archive.pid(pid)).read_bytes()
    archive.rebuild(archive.pid(pid))
    assert archive.suwaf_path(archive.pid(pid)).read_bytes() == kept
    store.raw.close()
    assert problems(first.root, *OF_WGET) == []
    assert warcio_faults(warc) == []


def test_a_crawl_without_rebuild_takes_the_paper_over_too(first: First, site: str) -> None:
    pid = "RePEc:aaa:bbbbbb:1"
    first.fetch("RePEc/aaa/bbbbbb/1", pid, f"{site}/chunked/1")
    store = Store(first.root)
    [added] = store.put(store.fut(pdf("1"), pid=pid, futli="http://x.example/"))
    assert not added.new
    assert list(cuts(store.archive, pid).values()) == [pdf("1")] * 2
    store.raw.close()
    assert problems(first.root, *OF_WGET) == []


def test_a_torn_or_damaged_file_of_the_first_lafka(first: First, site: str) -> None:
    pid = "RePEc:aaa:bbbbbb:1"
    for number in (1, 2):
        warc = first.fetch("RePEc/aaa/bbbbbb/1", pid, f"{site}/literal/{number}")
    data = warc.read_bytes()
    archive = Archive.create(first.root)
    place = data.index(b"Content-Length: ", data.index(b"WARC-Type: response")) + 16
    warc.write_bytes(data[:place] + b"9" + data[place + 1 :])
    before = files(first.root / "warc")
    with pytest.raises(BadWarc):
        archive.rebuild(archive.pid(pid))
    assert files(first.root / "warc") == before
    warc.write_bytes(data[:-700])
    archive.rebuild(archive.pid(pid))
    [aside] = warc.parent.glob("*.torn-*")
    assert data[:-700] == warc.read_bytes() + aside.read_bytes()
    assert pdf("1") in cuts(archive, pid).values()


def test_what_wget_says_of_itself_is_no_capture(first: First, site: str) -> None:
    warc = first.fetch("RePEc/aaa/bbbbbb/1", "RePEc:aaa:bbbbbb:1", f"{site}/literal/1")
    assert {"metadata", "resource"} <= {record.type for record in Volume(warc)}
    with warc.open("rb") as file:
        contents = PaperScanner(file.fileno(), warc).read()
    assert list(contents.futs) == ["sha256:" + hashlib.sha256(pdf("1")).hexdigest()]
    assert contents.payloads == {}
    assert len(contents.visits) == 1
