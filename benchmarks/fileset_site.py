"""Zenodo and archive.org played on loopback, over TLS, by nginx; alone with it in a namespace.

``alone`` starts a program again where the network has loopback only and ``/etc/hosts`` is its own:
so a peer whose hosts are fixed asks ``https://zenodo.org`` and gets our nginx, with a certificate
of a CA of a day, and no packet of any can leave the machine.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import random
import shutil
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from benchmarks import sites

HOSTS = {"zenodo.org": "127.0.0.35", "archive.org": "127.0.0.36"}
_ALONE = "BENCHMARK_ALONE"
_UP, _GET, _SET = 0x1, 0x8913, 0x8914  # IFF_UP, SIOCGIFFLAGS, SIOCSIFFLAGS
_CONF = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
events {{ worker_connections 1024; }}
http {{
  log_format bytes '$uri $body_bytes_sent';
  access_log {folder}/access.log bytes;
  server_tokens off;
  sendfile on;
  keepalive_requests 1000000;
  types {{ text/html html; application/json json; }}
  default_type application/octet-stream;
  client_body_temp_path {folder}/t1;
  proxy_temp_path {folder}/t2;
  fastcgi_temp_path {folder}/t3;
  uwsgi_temp_path {folder}/t4;
  scgi_temp_path {folder}/t5;
  ssl_certificate {folder}/site.pem;
  ssl_certificate_key {folder}/site.key;
  ssl_protocols TLSv1.2 TLSv1.3;
  server {{
    {listen}
    root {folder}/$host;
    location / {{ try_files $uri $uri/index.json $uri.html =404; }}
  }}
}}
"""


# ---- Alone


def alone(args: Sequence[str]) -> None:
    """Become the program *args* in a network and a view of files of its own; once."""
    if os.environ.get(_ALONE):
        return
    user = [] if os.getuid() == 0 else ["--map-current-user", "--keep-caps"]
    command = ["unshare", "--net", "--mount", *user, "--", *args]
    os.execvpe(command[0], command, {**os.environ, _ALONE: "1"})


def settle(folder: Path) -> None:
    """Have loopback up, and the hosts of the platforms on it. Only where we are ``alone``."""
    names = [name for _, name in socket.if_nameindex()]
    if not os.environ.get(_ALONE) or names != ["lo"]:
        raise SystemExit("these benchmarks run alone with loopback only")
    with socket.socket() as any_socket:
        asked = struct.pack("16sH14x", b"lo", 0)
        (flags,) = struct.unpack("16xH14x", fcntl.ioctl(any_socket, _GET, asked))
        fcntl.ioctl(any_socket, _SET, struct.pack("16sH14x", b"lo", flags | _UP))
    hosts = folder / "hosts"
    lines = ["127.0.0.1 localhost", *(f"{address} {name}" for name, address in HOSTS.items())]
    hosts.write_text("".join(f"{line}\n" for line in lines))
    subprocess.run(["mount", "--bind", hosts, "/etc/hosts"], check=True)


# ---- The certificate


def _certificates(folder: Path) -> None:
    """``ca.pem``, and ``site.pem`` with ``site.key`` for all hosts, good for a day."""
    authority, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "CA of a day")])
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "zenodo.org")])
    names = x509.SubjectAlternativeName([x509.DNSName(host) for host in HOSTS])
    made = _signed(issuer, issuer, authority, authority, x509.BasicConstraints(True, None))
    (folder / "ca.pem").write_bytes(made)
    (folder / ".wgetrc").write_text(f"ca_certificate = {folder}/ca.pem\n")
    (folder / "site.pem").write_bytes(_signed(subject, issuer, key, authority, names))
    (folder / "site.key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )


def _signed(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    authority: ec.EllipticCurvePrivateKey,
    extension: x509.ExtensionType,
) -> bytes:
    now = datetime.now(UTC)
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key())
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(identifier, critical=False)
    )
    signed = builder.sign(authority, hashes.SHA256())
    return signed.public_bytes(serialization.Encoding.PEM)


# ---- The site


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A file of the site: its name, size in bytes, hex digests; empty ones are not told."""

    name: str
    size: int
    md5: str = ""
    sha1: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What nginx serves below *folder*, a folder a host."""

    folder: Path

    @property
    def trust(self) -> dict[str, str]:
        """The environment of a program that is to trust the site."""
        bundle = str(self.folder / "ca.pem")
        return {
            "SSL_CERT_FILE": bundle,
            "REQUESTS_CA_BUNDLE": bundle,
            "CURL_CA_BUNDLE": bundle,
            "HOME": str(self.folder),
        }

    def zenodo(self, number: int, sizes: Sequence[int], *, zeros: bool = False) -> list[Held]:
        """Put a record with files of *sizes* there; *zeros*: holes, whose digests nobody tells."""
        host = self.folder / "zenodo.org"
        base = f"https://zenodo.org/api/records/{number}"
        files = []
        for place, size in enumerate(sizes):
            path = host / f"api/records/{number}/files/{place}.bin/content"
            path.parent.mkdir(parents=True)
            files.append(_file(path, f"{place}.bin", size, zeros=zeros))
        rows = [
            {
                "key": file.name,
                "size": file.size,
                **({"checksum": f"md5:{file.md5}"} if file.md5 else {}),
                "links": {"self": f"{base}/files/{file.name}/content"},
            }
            for file in files
        ]
        values = {
            "id": number,
            "conceptrecid": str(1_000_000 + number),
            "metadata": {"title": f"Record {number}", "access_right": "open"},
            "links": {"self": base},
            "files": rows,
        }
        (host / f"api/records/{number}/index.json").write_text(json.dumps(values))
        (host / "records").mkdir(exist_ok=True)
        (host / f"records/{number}.html").write_text(_page(f"Record {number}"))
        return files

    def archiveorg(self, name: str, sizes: Sequence[int]) -> list[Held]:
        """Put an item with files of *sizes* there."""
        host = self.folder / "archive.org"
        (host / f"download/{name}").mkdir(parents=True)
        files = [
            _file(host / f"download/{name}/{place}.bin", f"{place}.bin", size)
            for place, size in enumerate(sizes)
        ]
        rows = [
            {
                "name": file.name,
                "source": "original",
                "format": "Unknown",
                "size": str(file.size),
                "mtime": "1600000000",
                "md5": file.md5,
                "sha1": file.sha1,
            }
            for file in files
        ]
        values = {
            "metadata": {"identifier": name, "mediatype": "data", "title": name},
            "item_last_updated": 1_600_000_000,
            "server": "archive.org",
            "dir": f"/{name}",
            "files": rows,
        }
        for folder in ("metadata", "details"):
            (host / folder).mkdir(exist_ok=True)
        (host / f"metadata/{name}").mkdir()
        (host / f"metadata/{name}/index.json").write_text(json.dumps(values))
        (host / f"details/{name}.html").write_text(_page(name))
        return files

    def served(self) -> int:
        """Bytes of bodies that were sent so far."""
        lines = (self.folder / "access.log").read_text().splitlines()
        return sum(int(line.rpartition(" ")[2]) for line in lines)


def _page(title: str) -> str:
    return f'<!doctype html><meta name="citation_title" content="{title}"><title>{title}</title>'


_BLOCK = 1 << 20


def _file(path: Path, name: str, size: int, *, zeros: bool = False) -> Held:
    """Write a file, the same at every run; of a big one each MiB is another turn of the same."""
    with path.open("wb") as file:
        if zeros:
            os.truncate(file.fileno(), size)
            return Held(name=name, size=size)
        source = random.Random(f"{path.parts[-6:]} {size}").randbytes(min(size, _BLOCK))
        md5, sha1 = hashlib.md5(usedforsecurity=False), hashlib.sha1(usedforsecurity=False)
        for place in range(0, size, _BLOCK):
            turn = place // _BLOCK % len(source)
            piece = (source[turn:] + source[:turn])[: size - place]
            file.write(piece)
            md5.update(piece)
            sha1.update(piece)
    return Held(name=name, size=size, md5=md5.hexdigest(), sha1=sha1.hexdigest())


@contextmanager
def serving(folder: Path) -> Iterator[Site]:
    """A site in the empty *folder*; what is put there is served at once."""
    _certificates(folder)
    for host in HOSTS:
        (folder / host).mkdir()
    listen = "\n    ".join(f"listen {address}:443 ssl;" for address in HOSTS.values())
    conf, log = folder / "nginx.conf", folder / "error.log"
    conf.write_text(_CONF.format(folder=folder, listen=listen))
    with sites.nginx(folder, conf, log, (HOSTS["zenodo.org"], 443)):
        yield Site(folder=folder)


def room(folder: Path, needed: int) -> None:
    """End where the disk below *folder* has not *needed* bytes and a GiB more."""
    free = shutil.disk_usage(folder).free
    if free < needed + (1 << 30):
        sys.exit(f"{folder}: {needed >> 30} GiB are needed and {free >> 30} are free")
