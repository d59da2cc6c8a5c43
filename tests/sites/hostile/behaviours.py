"""What a hostile host does, as data: bytes, pauses and ends, each with the outcome it must have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

PORT = "@PRT@"
"""Stands for the site's port wherever it is sent or listed; as long as any port here."""
TRAP = f"http://127.0.0.1:{PORT}/trap"
"""An address that may not be asked: it is on loopback, but not in the networks allowed."""
MAX_PAYLOAD = 30_000_000
STALL = 3.0
PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<< >>\nendobj\n" + b"0" * 3000 + b"\n%%EOF\n"
SPLAP = (
    b"<!doctype html><html><head><title>A paper</title></head><body><p>Abstract</p></body></html>"
)


@dataclass(frozen=True, slots=True)
class End:
    """What becomes of the connection: closed, reset, or held without a byte until we go."""

    how: Literal["close", "reset", "hold"]


@dataclass(frozen=True, slots=True)
class Pause:
    seconds: float


@dataclass(frozen=True, slots=True)
class Repeat:
    """*data*, *count* times; without end where *count* is 0."""

    data: bytes
    count: int = 0


CLOSE, RESET, HOLD = End("close"), End("reset"), End("hold")
Step = bytes | End | Pause | Repeat
Steps = tuple[Step, ...]
Answer = Steps | Callable[["Asked"], Steps]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request: its target, its head, and how often the host was asked for the target before."""

    target: str
    head: bytes
    visits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """One bad behaviour, on a host of its own, and how its line must end.

    ``answers`` are by target; the list leads to ``/x`` unless it says otherwise. ``start`` stands
    in the list in place of the URL, ``line`` of the whole line. ``fut`` is the PDF that must be
    kept. ``truncated`` is the WARC-Truncated of the last answer in the raw WARC. ``good`` is the
    outcome of a good paper on the same host, listed behind. ``tls`` names a context of
    ``security``; ``raw`` stands for bytes in place of a handshake; ``certificate`` is the verdict
    that the raw WARC must note. ``on_connect`` is done before anything is asked, and then nothing
    else.
    """

    name: str
    outcome: str
    answers: dict[str, Answer] = field(default_factory=dict)
    start: str = ""
    line: bytes | None = None
    fut: bytes | None = None
    truncated: str = ""
    good: str = "fut"
    robots: Answer | None = None
    tls: str = ""
    certificate: str = ""
    on_connect: Steps | None = None
    led_off: bool = False
    """Whether it leads to addresses off loopback: such a crawl needs a network of its own."""


def http(
    body: bytes = b"", *fields: str, status: str = "200 OK", media_type: str = "text/html"
) -> Steps:
    """A well-formed answer with these bytes for its body."""
    lines = [f"HTTP/1.1 {status}", *fields, f"Content-Length: {len(body)}"]
    if media_type:
        lines.append(f"Content-Type: {media_type}")
    return ("\r\n".join([*lines, "", ""]).encode("latin-1") + body,)


def pdf(*fields: str, data: bytes = PDF) -> Steps:
    return http(data, *fields, media_type="application/pdf")


def head(*lines: str | bytes) -> bytes:
    coded = [line if isinstance(line, bytes) else line.encode("latin-1") for line in lines]
    return b"\r\n".join([*coded, b"", b""])


def to(location: str | bytes, *fields: str, status: str = "302 Found") -> Steps:
    coded = location if isinstance(location, bytes) else location.encode()
    lines = (f"HTTP/1.1 {status}", b"Location: " + coded, *fields, "Content-Length: 0")
    return (head(*lines),)


def page(body: str | bytes, in_head: str = "", *fields: str) -> Steps:
    coded = body if isinstance(body, bytes) else body.encode()
    start = f"<!doctype html><html><head><title>A paper</title>{in_head}</head><body>".encode()
    return http(start + coded + b"</body></html>", *fields)


def in_turn(*answers: Steps) -> Callable[[Asked], Steps]:
    """One after the other, the last one again and again."""
    return lambda asked: answers[min(asked.visits, len(answers) - 1)]


def one(name: str, outcome: str, *steps: Step, **fields: object) -> Behaviour:
    """A behaviour of one answer; a fut is PDF where no other bytes are given."""
    if outcome == "fut":
        fields.setdefault("fut", PDF)
    answers = {"/x": steps, **fields.pop("answers", {})}  # type: ignore[dict-item]
    return Behaviour(name=name, outcome=outcome, answers=answers, **fields)  # type: ignore[arg-type]
