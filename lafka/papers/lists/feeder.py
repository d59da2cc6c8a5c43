"""The lines of a list as the feeder keeps them (:mod:`lafka.politeness.feeder`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lafka.papers.lists.futlis import Futli, Line
from lafka.pids import Pid
from lafka.politeness.feeder import HostFeeder

if TYPE_CHECKING:
    from pathlib import Path


class Feeder(HostFeeder[Line]):
    """Lines of a list of futlis, interleaved by host; those that need no request come first."""

    def __init__(self, path: Path, *, per_host: int = 1, probes: int | None = None) -> None:
        super().__init__(path, LineForm(), per_host=per_host, probes=probes)


class LineForm:
    """Lines of a list as bytes."""

    def pack(self, line: Line) -> bytes:
        return _packed(line)

    def unpack(self, number: int, data: bytes) -> Line:
        return _unpacked(number, data)


# Bytes that are in no UTF-8, not even with surrogates: no text is mistaken for them.
_END = b"\xff"
_NONE = b"\xfe"
_AS_CAME = b"\xfd"


def _packed(line: Line) -> bytes:
    fields = [line.pid_text, line.url_text, line.outcome, line.problem]
    packed = [_NONE if field is None else _bytes(field) for field in fields]
    if futli := line.futli:
        packed += [
            _AS_CAME if futli.pid.text == line.pid_text else _bytes(futli.pid.text),
            _bytes(futli.pid.path),
            _AS_CAME if futli.url == line.url_text else _bytes(futli.url),
        ]
    return _END.join(packed)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _unpacked(number: int, data: bytes) -> Line:
    pid_text, url_text, outcome, problem, *futli = data.split(_END)
    return Line(
        number=number,
        pid_text=_text(pid_text),
        url_text=_text(url_text),
        outcome=None if outcome == _NONE else _text(outcome),
        problem=None if problem == _NONE else _text(problem),
        futli=_futli(*futli, pid_text=pid_text, url_text=url_text) if futli else None,
    )


def _futli(pid: bytes, path: bytes, url: bytes, *, pid_text: bytes, url_text: bytes) -> Futli:
    return Futli(
        pid=Pid(text=_text(pid_text if pid == _AS_CAME else pid), path=_text(path)),
        url=_text(url_text if url == _AS_CAME else url),
    )


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
