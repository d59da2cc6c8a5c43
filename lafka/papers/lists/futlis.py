"""A futli, a line of a list with its verdict, and the feeder that keeps lines by host.

``lafka.papers.lists.listfiles`` reads lines, ``lafka.papers.lists.rows`` knows the formats and
judges.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from lafka.pids import Pid
from lafka.politeness.feeder import HostFeeder

if TYPE_CHECKING:
    from pathlib import Path


# What the urlsplit of the standard library says too, in a tenth of its time.
_PLAIN_HOST = re.compile(r"https?://([a-z0-9._-]+)(?::[0-9]+)?(?:[/?#]|\Z)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Futli:
    """A link that came with a pid, char by char as it came.

    ``title`` is the paper's, if given; ``as_written`` what the list has where that is no URL, as
    ``doi:10.1000/182``, and else the same.
    """

    pid: Pid
    url: str
    title: str = field(default="", compare=False)
    as_written: str = field(default="", compare=False)

    @property
    def host(self) -> str:
        """Host name in lower case, without port: the slot in which Scrapy asks for the URL."""
        return host_of(self.url)


def host_of(url: str) -> str:
    """The host name of *url* in lower case, without port; empty where it has none."""
    if plain := _PLAIN_HOST.match(url):
        return plain[1]
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a list and its verdict.

    ``number`` counts every line of the file from 1. ``outcome`` is None where ``futli`` can be
    asked for, else ``bad-pid``, ``bad-url`` or ``restricted`` with the reason in ``problem``;
    a bad line has no futli, a restricted one has. What is not UTF-8 stands as escapes in the
    texts. Of a line that has no columns the texts show the beginning. ``since``: a fut that was had
    before it is asked for again.
    """

    number: int
    pid_text: str
    url_text: str
    futli: Futli | None = None
    outcome: str | None = None
    problem: str | None = None
    since: datetime | None = None

    @property
    def host(self) -> str:
        """The host to ask for it; empty where it needs no request."""
        return self.futli.host if self.futli and self.outcome is None else ""


class Feeder(HostFeeder[Line]):
    """Lines of a list of futlis, interleaved by host; those that need no request come first."""

    def __init__(self, path: Path, *, per_host: int = 1, probes: int | None = None) -> None:
        super().__init__(path, LineForm(), per_host=per_host, probes=probes)


class LineForm:
    """Lines of a list as bytes."""

    def pack(self, line: Line) -> bytes:
        fields = [line.pid_text, line.url_text, line.outcome, line.problem]
        packed = [_NONE if field is None else _bytes(field) for field in fields]
        if futli := line.futli:
            packed += [
                _AS_CAME if futli.pid.text == line.pid_text else _bytes(futli.pid.text),
                _bytes(futli.pid.path),
                _AS_CAME if futli.url == line.url_text else _bytes(futli.url),
                _bytes(futli.title),
            ]
            if line.since:
                packed.append(line.since.isoformat().encode())
        return _END.join(packed)

    def unpack(self, number: int, data: bytes) -> Line:
        pid_text, url_text, outcome, problem, *futli = data.split(_END)
        return Line(
            number=number,
            pid_text=_text(pid_text),
            url_text=_text(url_text),
            outcome=None if outcome == _NONE else _text(outcome),
            problem=None if problem == _NONE else _text(problem),
            futli=_futli(*futli[:4], pid_text=pid_text, url_text=url_text) if futli else None,
            since=datetime.fromisoformat(futli[4].decode()) if len(futli) > 4 else None,
        )


# Bytes that are in no UTF-8, not even with surrogates: no text is mistaken for them.
_END = b"\xff"
_NONE = b"\xfe"
_AS_CAME = b"\xfd"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _futli(
    pid: bytes, path: bytes, url: bytes, title: bytes, *, pid_text: bytes, url_text: bytes
) -> Futli:
    return Futli(
        pid=Pid(text=_text(pid_text if pid == _AS_CAME else pid), path=_text(path)),
        url=_text(url_text if url == _AS_CAME else url),
        title=_text(title),
        as_written=_text(url_text),
    )


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
