"""Archives for tests, filled from answers at hand: no network, the same code as in a crawl."""

from __future__ import annotations

import gzip
import json
import os
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from lafka.capture.exchanges import Exchange
from lafka.capture.logged import LoggedExchange
from lafka.capture.rawlog import RawLog
from lafka.capture.verdicts import judge
from lafka.papers.archive.archives import Archive
from lafka.papers.archive.paperwarc import StoredCapture
from lafka.papers.archive.recovery import end_of
from lafka.papers.checking import Verifier
from lafka.papers.lists.futlis import Futli
from lafka.papers.origins import NAMES, Origin
from lafka.papers.outcomes import Outcome
from lafka.papers.walk import Ask, Capture, Trail
from lafka.warc.format import dates

START = datetime(2026, 11, 20, 10, 11, 12, 250_000, tzinfo=UTC)
PID = "RePEc:abc:wpaper:1"
FUTLI = "http://x.example/abs/1"


def pdf(name: object = "", size: int = 300) -> bytes:
    """A PDF of about *size* bytes that no other *name* has; it has bytes that look like framing."""
    filler = f"{name}".encode() + b"\r\n\r\nWARC/1.1\r\n0\r\n\r\n" + bytes(range(256))
    body = (filler * (size // len(filler) + 1))[:size]
    return b"%PDF-1.4\n" + body + f"\n% {name}\n%%EOF\n".encode()


def page(name: object = "") -> bytes:
    return f"<!DOCTYPE html><html><body><a href='/1.pdf'>{name}</a></body></html>\n".encode()


def chunked(body: bytes, *, trailers: bytes = b"", step: int = 100) -> bytes:
    pieces = (body[place : place + step] for place in range(0, len(body), step))
    framed = b"".join(b"%x;q=1\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    return framed + b"0\r\n" + trailers + b"\r\n"


def answer(body: bytes, kind: str = "literal", *, status: str = "200 OK") -> bytes:
    """What the wire carries of *body*: *kind* names its framing and coding."""
    head = [f"HTTP/1.1 {status}", "Content-Type: application/octet-stream", "X-Odd:  a  b"]
    if kind == "junk-led":
        body = b"\r\njunk " + body
    if kind == "said to be gzip":
        head.append("Content-Encoding: gzip")
    elif "gzip" in kind:
        body = gzip.compress(body, mtime=0)
        head.append("Content-Encoding: gzip")
    if "deflate" in kind:
        body = zlib.compress(body)
        head.append("Content-Encoding: deflate")
    if "chunked" in kind:
        body = chunked(body, trailers=b"X-Sum: 1\r\n" if "trailers" in kind else b"")
        head.append("Transfer-Encoding: chunked")
    elif kind != "until-close":
        head.append(f"Content-Length: {len(body)}")
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


KINDS = ("literal", "until-close", "chunked", "chunked trailers", "gzip", "gzip chunked",
         "deflate", "junk-led")  # fmt: skip


def redirect(url: str) -> bytes:
    return f"HTTP/1.1 302 Found\r\nLocation: {url}\r\nContent-Length: 4\r\n\r\ngone".encode()


def exchange(url: str, response: bytes, *, at: datetime = START, **more: Any) -> Exchange:
    made = Exchange(url=url, method="GET")
    made.begin(at, "127.0.0.1")
    made.request = f"GET {url} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    made.response.append(response)
    made.ended = "complete"
    for name, value in more.items():
        setattr(made, name, value)
    return made


def run_named(text: object) -> str:
    """A name as runs have it, with *text* in it."""
    return f"20261120T101112000000Z-{text}-1".replace(" ", "-")


@dataclass
class Store:
    """An archive at *root* and one run of it, which has *run* in its name."""

    root: Path
    run: str = "1"
    config: dict[str, Any] = field(default_factory=dict)
    keep: bool = False
    number: int = 0

    def __post_init__(self) -> None:
        self.archive = Archive.create(self.root)
        self.raw = RawLog(
            self.root / "raw", run_named(self.run), config=self.config, keep=self.keep
        )

    def die(self) -> None:
        """Let go of the run as a kill does: its files stay, its lock is free."""
        self.raw._files.close()
        if self.raw._lock >= 0:
            os.close(self.raw._lock)
            self.raw._lock = -1

    def ask(self, pid: str = PID, futli: str = FUTLI, **more: Any) -> Ask:
        """An ask of *futli*; *more*: its other fields, and those of its origin."""
        found = Futli(pid=self.archive.pid(pid), url=futli)
        origin = Origin(**{key: more.pop(key) for key in NAMES if key in more})
        return Ask(**{"futli": found, "number": self.number, "url": futli, "origin": origin} | more)

    def capture(
        self,
        ask: Ask,
        *responses: bytes,
        at: datetime = START,
        url: str = "",
        **more: Any,
    ) -> Capture:
        """What a crawl makes of *responses*: redirect hops, then the last answer."""
        url = url or ask.url
        urls = [f"{url}?hop={n}" for n in range(len(responses) - 1)] + [url]
        exchanges: list[LoggedExchange] = []
        for place, response in zip(urls, responses, strict=True):
            made = exchange(place, response, at=at, **more)
            logged = self.raw.record(made, ask.provenance, exchanges[0] if exchanges else None)
            assert logged is not None
            exchanges.append(logged)
        last = exchanges[-1]
        return Capture(
            ask=ask,
            url=url,
            time=last.time,
            outcome=Outcome.from_verdict(
                judge(
                    last.payload,
                    truncated=more.get("truncated", ""),
                    dropped=more.get("dropped", False),
                )
            ),
            payload=last.payload,
            exchanges=tuple(exchanges),
        )

    def fut(self, body: bytes, kind: str = "literal", *, hops: int = 0, **more: Any) -> Capture:
        """The capture of a fut straight from its futli."""
        at = more.pop("at", START)
        ask = self.ask(**more)
        hop = redirect(ask.url)
        return self.capture(ask, *[hop] * hops, answer(body, kind), at=at)

    def splap(self, body: bytes, **more: Any) -> Capture:
        at = more.pop("at", START)
        return self.capture(self.ask(**more), answer(body), at=at)

    def found(self, splap: Capture, url: str, body: bytes, kind: str = "literal",
              **more: Any) -> Capture:  # fmt: skip
        """The capture of a fut that was found on *splap*."""
        at = more.pop("at", splap.time + timedelta(seconds=1))
        date = dates.to_seconds(splap.time)
        origin = {"found_by": "citation_pdf_url", "html_url": splap.url, "html_date": date} | more
        ask = replace(splap.ask, url=url, origin=Origin(**origin))
        return self.capture(ask, answer(body, kind), at=at)

    def end(self, captures: Sequence[Capture], *, futli: Futli | None = None) -> Trail:
        """End the trail of *captures* in the raw WARC."""
        found = captures[0].ask.futli if captures else futli
        assert found is not None
        outcome = Outcome.FUT if any(c.is_pdf for c in captures) else Outcome.SPLAP_ONLY
        stored = tuple(c for c in captures if c.is_kept)
        trail = Trail(futli=found, number=self.number, captures=stored, outcome=outcome)
        self.note_end(trail)
        return trail

    def note_end(self, trail: Trail) -> None:
        self.raw.note(trail.number, trail.futli.url, end_of(trail))

    def append(self, captures: Sequence[Capture], **more: Any) -> list[StoredCapture]:
        with self.archive.paper(captures[0].ask.futli.pid) as paper:
            return paper.append(captures, **more)

    def put(self, *captures: Capture) -> list[StoredCapture]:
        """The whole way of a trail: end, append, copied."""
        trail = self.end(captures)
        added = self.append(trail.captures)
        self.raw.release(self.number)
        self.number += 1
        return added

    def warc(self, pid: str = PID) -> Path:
        return self.archive.warc_path(self.archive.pid(pid))

    def suwaf(self, pid: str = PID) -> Path:
        return self.archive.suwaf_path(self.archive.pid(pid))


@contextmanager
def quick_folder() -> Iterator[Path]:
    """A folder in memory where there is one: kills of processes are the same there, syncs quick."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="lafka-", dir=memory) as folder:
        yield Path(folder)


def problems(root: Path, *passed_over: str) -> list[str]:
    """What the verifier says of the archive, without codes that are *passed_over*."""
    found = (p for p in Verifier(root).verify_all() if p.code not in passed_over)
    return [json.dumps(problem.as_json(), ensure_ascii=False) for problem in found]


def cuts(archive: Archive, pid: str = PID) -> dict[tuple[str, str], bytes]:
    """What the suwaf's s and l cut out of the WARC: futli and time -> bytes, by plain JSON."""
    found = archive.pid(pid)
    # The suwaf first, as readers do: a writer may be at work, and the WARC only grows.
    values = json.loads(archive.suwaf_path(found).read_bytes())[str(found)]
    data = archive.warc_path(found).read_bytes()
    return {
        (futli, time): data[fut["s"] : fut["s"] + fut["l"]]
        for futli, times in values.items()
        for time, fut in times.items()
    }


def warcio_faults(warc: Path) -> list[str]:
    """The records that warcio's own checker complains about."""
    from warcio.archiveiterator import ArchiveIterator

    faults = []
    with warc.open("rb") as file:
        for record in ArchiveIterator(file, check_digests=True):
            record.content_stream().read()
            if record.digest_checker.passed is False:
                faults.extend(record.digest_checker.problems)
    return faults


def files(folder: Path) -> dict[str, bytes]:
    """Every file below *folder* by its relative path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(_walk(folder))
    }


def _walk(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())
