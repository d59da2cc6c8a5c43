"""Sites to be crawled: files that nginx serves on loopback, without delays."""

from __future__ import annotations

import random
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SPLAP_SIZE = 60_000

_CONF = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
worker_rlimit_nofile 8192;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  server_tokens off;
  sendfile on;
  keepalive_requests 1000000;
  types {{ text/html html; application/pdf pdf; }}
  client_body_temp_path {folder}/t1;
  proxy_temp_path {folder}/t2;
  fastcgi_temp_path {folder}/t3;
  uwsgi_temp_path {folder}/t4;
  scgi_temp_path {folder}/t5;
  server {{
    {listen}
    {tls}
    root {root};
  }}
}}
"""


@contextmanager
def serving(root: Path, hosts: int = 1, *, tls: bool = False) -> Iterator[int]:
    """Serve *root* on 127.0.0.1 and the addresses after it, *hosts* in all; the port.

    With *tls* by a certificate that nobody vouches for.
    """
    folder = root.with_name(f"{root.name}-nginx")
    folder.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    secure = " ssl" if tls else ""
    listen = "\n    ".join(f"listen {address(n)}:{port}{secure};" for n in range(hosts))
    conf = folder / "nginx.conf"
    said = _certified(folder) if tls else ""
    conf.write_text(_CONF.format(folder=folder, listen=listen, tls=said, root=root))
    log = folder / "error.log"
    with nginx(folder, conf, log, ("127.0.0.1", port)):
        yield port


def _certified(folder: Path) -> str:
    """What the configuration says of TLS; key and certificate lie in *folder*."""
    key, certificate = folder / "site.key", folder / "site.pem"
    command = [
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
        "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-keyout", str(key),
        "-out", str(certificate),
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    return f"ssl_certificate {certificate};\n    ssl_certificate_key {key};"


@contextmanager
def nginx(folder: Path, conf: Path, log: Path, answers: tuple[str, int]) -> Iterator[None]:
    """An nginx with the configuration *conf*, that answers at this address and port."""
    path = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
    if path is None:
        raise SystemExit("nginx is missing (Debian: apt-get install nginx-light)")
    server = subprocess.Popen([path, "-p", folder, "-e", log, "-c", conf])
    try:
        _wait(server, answers, log)
        yield
    finally:
        server.terminate()
        server.wait()


def address(number: int) -> str:
    """The loopback address of host *number*, from 0."""
    return f"127.0.{number // 250}.{number % 250 + 1}"


def _wait(server: subprocess.Popen[bytes], answers: tuple[str, int], log: Path) -> None:
    for _ in range(500):
        if server.poll() is not None:
            raise SystemExit(f"nginx ended: {log.read_text()}")
        with socket.socket() as asked:
            if asked.connect_ex(answers) == 0:
                return
        time.sleep(0.02)
    raise SystemExit("nginx does not answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Papers:
    """*count* papers of *size* bytes, each behind a splap of 60 kB.

    *tls*: by https; *robots*: of a site that has a robots.txt, which is asked for.
    """

    count: int
    size: int
    tls: bool = False
    robots: bool = False

    @property
    def label(self) -> str:
        size = f"{self.size // 1000} kB" if self.size < 1_000_000 else f"{self.size / 1e6:g} MB"
        more = ", TLS" * self.tls + ", robots.txt" * self.robots
        return f"{self.count} futs of {size}{more}"

    def pid(self, number: int) -> str:
        return f"RePEc:ben:w{self.size}:{number}"

    def make(self, root: Path) -> None:
        """The files of the site, the same at every run."""
        source = random.Random(self.size)
        (root / "abs").mkdir(parents=True)
        (root / "pdf").mkdir()
        if self.robots:
            (root / "robots.txt").write_text("User-agent: *\nDisallow: /admin/\n")
        for number in range(self.count):
            (root / "abs" / f"{number}.html").write_text(_splap(source, number))
            (root / "pdf" / f"{number}.pdf").write_bytes(_pdf(source, self.size))

    def list(self, path: Path, port: int) -> Path:
        """The list of the site at *port*, tsv, at *path*."""
        scheme = "https" if self.tls else "http"
        lines = (
            f"{self.pid(number)}\t{scheme}://127.0.0.1:{port}/abs/{number}.html\n"
            for number in range(self.count)
        )
        path.write_text("".join(lines))
        return path


def _pdf(source: random.Random, size: int) -> bytes:
    head, tail = b"%PDF-1.4\n", b"\n%%EOF\n"
    return head + source.randbytes(size - len(head) - len(tail)) + tail


# Of 84 landing pages of journals and repositories, those of 45 to 75 kB have 91 links (median).
_TOPICS, _REFERENCES = 60, 30
_WORDS = """
the of a model with prices and growth in data from households firms policy evidence trade panel
shocks income estimates markets under risk labour capital rates
"""
_SCRIPT = "function track{0}(e){{if(e&&e.target){{window.events.push([{0},e.type,Date.now()])}}}}\n"


def _splap(source: random.Random, number: int) -> str:
    """A landing page as platforms make them: meta tags, navigation, abstract, references."""
    known = _WORDS.split()

    def words(count: int) -> str:
        return " ".join(source.choices(known, k=count))

    head = (
        f"<title>{words(8)}</title>"
        f'<meta name="citation_title" content="{words(8)}">'
        + "".join(f'<meta name="citation_author" content="{words(2)}">' for _ in range(4))
        + '<meta name="citation_publication_date" content="2020/01/02">'
        + f'<meta name="citation_pdf_url" content="/pdf/{number}.pdf">'
        + "".join(f'<link rel="stylesheet" href="/css/{n}.css">' for n in range(8))
    )
    topics = "".join(f'<li><a href="/topic/{n}">{words(3)}</a></li>' for n in range(_TOPICS))
    cited = "".join(
        f'<li class="reference"><a href="/cited/{n}">{words(6)}</a>, {words(30)}.</li>'
        for n in range(_REFERENCES)
    )
    paragraphs = "".join(f"<p>{words(120)}</p>" for _ in range(16))
    body = (
        f"<nav><ul>{topics}</ul></nav><main><h1>{words(8)}</h1>"
        f'<a href="/pdf/{number}.pdf">Download PDF</a>'
        f'<div class="abstract"><h2>Abstract</h2>{paragraphs}</div><ol>{cited}</ol></main>'
    )
    page = f"<!DOCTYPE html><html><head>{head}</head><body>{body}<script>\n"
    end = "</script></body></html>"
    lines = 0
    while len(page) + len(end) + 200 < SPLAP_SIZE:
        page += _SCRIPT.format(lines)
        lines += 1
    return page + " " * (SPLAP_SIZE - len(page) - len(end)) + end
