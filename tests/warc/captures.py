"""Small volumes for tests of indexes and collections: captures, written by hand."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterable
from pathlib import Path

URL = "http://x.example/a"
DATE = "2026-11-20T10:00:00Z"
PROFILES = "http://netpreserve.org/warc/1.1/revisit/"
IDENTICAL = PROFILES + "identical-payload-digest"
NOT_MODIFIED = PROFILES + "server-not-modified"


def record(kind: str, block: bytes, *, name: str = "", **fields: str) -> bytes:
    """A record; in the names of *fields* underlines stand for hyphens, before them ``WARC-``."""
    lines = [f"WARC-Type: {kind}"]
    if name:
        lines.append(f"WARC-Record-ID: <urn:test:{name}>")
    given = {"Date": DATE, **fields}
    for key, value in given.items():
        prefix = "" if key.startswith("Content") else "WARC-"
        lines.append(f"{prefix}{key.replace('_', '-')}: {value}")
    lines.append(f"Content-Length: {len(block)}")
    head = "WARC/1.1\r\n" + "\r\n".join(lines) + "\r\n\r\n"
    return head.encode() + block + b"\r\n\r\n"


def digest(body: bytes) -> str:
    return "sha256:" + hashlib.sha256(body).hexdigest()


def message(body: bytes, status: str = "200 OK", *lines: str) -> bytes:
    head = [f"HTTP/1.1 {status}", "Content-Type: text/html; charset=utf-8", *lines]
    head.append(f"Content-Length: {len(body)}")
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


def response(
    body: bytes = b"hello", url: str = URL, date: str = DATE, *, name: str = "", **more: str
) -> bytes:
    return record(
        "response", message(body), name=name, Target_URI=url, Date=date,
        Payload_Digest=digest(body), Content_Type="application/http;msgtype=response", **more,
    )  # fmt: skip


def request(url: str = URL, date: str = DATE, *, name: str = "") -> bytes:
    block = b"GET /a HTTP/1.1\r\nHost: x.example\r\n\r\n"
    kind = "application/http;msgtype=request"
    return record("request", block, name=name, Target_URI=url, Date=date, Content_Type=kind)


def revisit(
    body: bytes = b"hello", url: str = URL, date: str = DATE, *, name: str = "", **more: str
) -> bytes:
    given = {"Profile": IDENTICAL, "Payload_Digest": digest(body)} | more
    kind = "application/http;msgtype=response"
    block = message(b"")
    return record(
        "revisit", block, name=name, Target_URI=url, Date=date, Content_Type=kind, **given
    )


def volume(path: Path, *records: bytes) -> Path:
    """A volume of *records*, a member each where its name ends so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(_packed(records) if path.suffix == ".gz" else records))
    return path


def _packed(records: Iterable[bytes]) -> Iterable[bytes]:
    return (gzip.compress(one, mtime=0) for one in records)
