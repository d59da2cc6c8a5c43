"""The suwaf, the summary of a paper WARC (requirement paper, section 5), and the futs it names.

A JSON object: pid -> futli -> time -> ``{"s", "l", ...}``, and ``_warc`` for the writer. It can
always be made again from its WARC; readers take no lock and always see a whole file.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn

from lafka.errors import BadSuwaf, CallerError, NotHeld, ShortWarc, StorageTrouble
from lafka.papers.origins import FUTLI_ITSELF, Origin
from lafka.pids import Pid
from lafka.warc.format import dates
from lafka.warc.format.sources import RangeFile

FORMAT = 1
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3}|\.\d{6})?Z")
_TIME_SHAPE = "0000-00-00T00:00:00.000000"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fut:
    """The place of a fut in its WARC, and its source.

    ``s`` and ``l``: start and length in bytes, ``warc[s:s+l]`` is the PDF; ``digest`` is of these
    bytes. ``origin`` tells what led to ``url``.
    """

    s: int
    l: int  # noqa: E741  the requirement paper's name
    url: str
    digest: str
    origin: Origin = FUTLI_ITSELF

    @property
    def label(self) -> str:
        """Empty for a fut, else what the PDF is thought to be."""
        return self.origin.label

    def as_json(self) -> dict[str, Any]:
        place = {"s": self.s, "l": self.l, "url": self.url, "digest": self.digest}
        return {**place, **self.origin.as_json()}

    @classmethod
    def of_json(cls, values: Any) -> Fut:
        """``ValueError`` where *values* are no fut; keys that are not known are passed over."""
        if not isinstance(values, dict):
            raise ValueError("an entry is no object")
        start, length = values.get("s"), values.get("l")
        if type(start) is not int or type(length) is not int or start < 0 or length < 0:
            raise ValueError("s and l have to be whole numbers")
        url, digest = values.get("url", ""), values.get("digest", "")
        if not isinstance(url, str) or not isinstance(digest, str):
            raise ValueError("an entry holds something that is no text")
        return cls(s=start, l=length, url=url, digest=digest, origin=Origin.of_json(values))


@dataclass(slots=True, kw_only=True)
class Suwaf:
    """The summary of one paper. ``end``: how far the WARC is known good, in bytes.

    ``chain`` is a digest over all record headers up to ``end`` (docs/formats.md); empty where it is
    not known. ``open`` holds the futlis whose last trail was cut off, to be asked again.
    """

    pid: Pid
    futlis: dict[str, dict[str, Fut]] = field(default_factory=dict)
    end: int = 0
    chain: str = ""
    open: tuple[str, ...] = ()
    _texts: dict[str, bytes] = field(default_factory=dict, repr=False, compare=False)
    """Each futli's part of the file, once it was made: ``add`` alone changes ``futlis`` then."""

    @classmethod
    def load(cls, path: Path | str, pid: Pid) -> Suwaf | None:
        """The suwaf of *pid* at *path*, None where there is none.

        ``BadSuwaf`` where it is none, ``StorageTrouble`` where it cannot be read.
        """
        found = cls.load_with_stat(path, pid)
        return found[0] if found else None

    @classmethod
    def load_with_stat(cls, path: Path | str, pid: Pid) -> tuple[Suwaf, os.stat_result] | None:
        """As :meth:`load`, and what file it was that was read."""
        try:
            status, data = _read(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise StorageTrouble(path, error) from error
        return cls.of_bytes(data, path, pid), status

    @classmethod
    def of_bytes(cls, data: bytes, path: Path | str, pid: Pid) -> Suwaf:
        """The suwaf of *pid* in *data*, which is from *path*; ``BadSuwaf`` where it is none."""
        try:
            return cls.of_json(json.loads(data), pid)
        except (ValueError, RecursionError) as error:
            raise BadSuwaf(Path(path), f"not a suwaf: {error}") from None

    @classmethod
    def of_json(cls, values: Any, pid: Pid) -> Suwaf:
        """``ValueError`` where *values* are not the suwaf of *pid*."""
        if not isinstance(values, dict):
            raise ValueError("not a JSON object")
        end, chain, opened = _writer_of(values)
        name = pid.text
        for key in values:
            if key not in (name, "_warc"):
                raise ValueError(f"it is of {key!r}, not of {name!r}")
        futlis = _futlis_of(values.get(name, {}))
        return cls(pid=pid, futlis=futlis, end=end, chain=chain, open=opened)

    def copy(self) -> Suwaf:
        """Another one, that may be added to without a change of this one."""
        return replace(self, futlis=self.futlis.copy(), _texts=self._texts.copy())

    def to_bytes(self) -> bytes:
        """The file's bytes: ``as_json()`` in JSON, one blank deep for each level."""
        return b"".join(self._pieces())

    def _pieces(self) -> tuple[bytes, ...]:
        """The file's bytes; what was encoded for the last call is not encoded again."""
        if len(self._texts) < len(self.futlis):
            missing = [futli for futli in self.futlis if futli not in self._texts]
            self._texts |= {futli: _indented(futli, self._times(futli)) for futli in missing}
        texts = b",\n".join(map(self._texts.__getitem__, self.futlis))
        begin, end = (b"{\n", b"\n }") if self.futlis else (b"{", b"}")
        name, writer = _encoded(str(self.pid)), _encoded({"_warc": self._writer()})
        return b"{\n %s: %s" % (name, begin), texts, b"%s,\n%s\n" % (end, writer[2:])

    def as_json(self) -> dict[str, Any]:
        futs = {futli: self._times(futli) for futli in self.futlis}
        return {str(self.pid): futs, "_warc": self._writer()}

    def _times(self, futli: str) -> dict[str, Any]:
        return {time: fut.as_json() for time, fut in self.futlis[futli].items()}

    def _writer(self) -> dict[str, Any]:
        writer: dict[str, Any] = {"format": FORMAT, "end": self.end}
        if self.chain:
            writer["chain"] = self.chain
        if self.open:
            writer["open"] = list(self.open)
        return writer

    def check_length(self, warc: Path, size: int) -> None:
        """``ShortWarc`` where the file *warc*, of *size* bytes, is shorter than ``end``."""
        if size < self.end:
            raise ShortWarc(warc, f"{size} bytes long, but its suwaf knows {self.end} bytes")

    def add(self, futli: str, time: datetime, fut: Fut) -> str:
        """Note *fut* of *futli* at *time* (aware); the key under which it stands.

        The key is the time cut to seconds, or, where that second is taken, to milliseconds, then
        microseconds; where even that is taken, the next free microsecond.
        """
        times = self.futlis.get(futli, {})
        key = _free_key(times, time)
        self.futlis[futli] = {**times, key: fut}  # a copy may have the times of before
        self._texts.pop(futli, None)
        return key

    def fut(
        self, futli: str | None = None, time: str | None = None, *, label: str | None = ""
    ) -> tuple[str, str, Fut]:
        """The latest fut, or that of *futli*, or that nearest before *time*: futli, time, fut.

        *time* is any prefix of ``YYYY-MM-DDThh:mm:ssZ``; the latest entry not after it is given.
        *label*: that of the PDF; empty for what is thought to be the fut, None for any, and then
        one that is thought to be the fut comes before all others. ``NotHeld`` where there is none,
        ``CallerError`` where *time* is no time.
        """
        if time is not None and not begins_time(time):
            raise CallerError(f"{time}: not a time as YYYY-MM-DDThh:mm:ssZ, or a beginning of one")
        latest = (time or "").removesuffix("Z")
        found = [
            (name, key, fut)
            for name, times in self.futlis.items()
            if futli is None or name == futli
            for key, fut in times.items()
            if not latest or key[:-1][: len(latest)] <= latest
        ]
        wanted = [entry for entry in found if label is None or entry[2].origin.label == label]
        if not wanted:
            bounds = filter(None, (futli and f"of {futli}", time and f"by {time}"))
            what = f"PDF labelled {label!r}" if label else "fut"
            there = _labels(fut.label for _, _, fut in found)
            raise NotHeld(f"{self.pid}: no {' '.join((what, *bounds))} is held{there}")
        if len(wanted) == 1:
            return wanted[0]
        return max(wanted, key=lambda entry: (not entry[2].label, entry[1][:-1], entry[0]))


def _read(path: Path | str) -> tuple[os.stat_result, bytes]:
    """Return the file's status and bytes, at half the cost of a file object."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        status, data = os.fstat(fd), b""
        while more := os.read(fd, max(status.st_size - len(data), 1)):
            data += more
        return status, data
    finally:
        os.close(fd)


def _labels(labels: Iterable[str]) -> str:
    """Return what there is instead, for the end of a sentence; empty where there is nothing."""
    counts = Counter(label or "fut" for label in labels)
    said = ", ".join(f"{count} labelled {label!r}" for label, count in sorted(counts.items()))
    return f", but PDFs are: {said}" if said else ""


_flat = json.JSONEncoder(ensure_ascii=False).encode  # with an indent it is slower by far


def _encoded(values: Any) -> bytes:
    return _text(values, "\n").encode("utf-8", "surrogatepass")


def _text(values: Any, margin: str) -> str:
    """*values* as ``json.dumps`` has them with an indent of 1; *margin*: what begins its lines."""
    inside = margin + " "
    if values and isinstance(values, dict):
        items = (f"{_flat(name)}: {_text(value, inside)}" for name, value in values.items())
        return f"{{{inside}{f',{inside}'.join(items)}{margin}}}"
    if values and isinstance(values, list):
        return f"[{inside}{f',{inside}'.join(_text(value, inside) for value in values)}{margin}]"
    return _flat(values)


def _indented(futli: str, times: dict[str, Any]) -> bytes:
    """An entry of an object as it stands one level deeper."""
    text = f"  {_flat(futli)}: {_text(times, chr(10) + '  ')}"
    return text.encode("utf-8", "surrogatepass")


def _writer_of(values: dict[str, Any]) -> tuple[int, str, tuple[str, ...]]:
    """``_warc``: end, chain, and the futlis that are open."""
    writer = values.get("_warc")
    if not isinstance(writer, dict) or writer.get("format") != FORMAT:
        raise ValueError(f"_warc of format {FORMAT} is missing")
    end, chain, opened = writer.get("end"), writer.get("chain", ""), writer.get("open", [])
    if type(end) is not int or end < 0:
        raise ValueError("_warc.end is no whole number")
    if not isinstance(chain, str) or not isinstance(opened, list):
        raise ValueError("_warc holds a value of another type")
    return end, chain, tuple(str(futli) for futli in opened)


def _futlis_of(futlis: Any) -> dict[str, dict[str, Fut]]:
    if not isinstance(futlis, dict) or not all(isinstance(t, dict) for t in futlis.values()):
        raise ValueError("futlis and times have to be objects")
    return {
        futli: {_time(time): Fut.of_json(fut) for time, fut in times.items()}
        for futli, times in futlis.items()
    }


def begins_time(text: str) -> bool:
    """Return whether *text* is a time of a suwaf, or a beginning of one, with or without its Z."""
    return _TIME_SHAPE.startswith(re.sub("[0-9]", "0", text.removesuffix("Z")))


def _time(key: str) -> str:
    if not _TIME.fullmatch(key):
        raise ValueError(f"not a time: {key!r}")
    return key


def _free_key(times: dict[str, Fut], time: datetime) -> str:
    while True:
        for key in (dates.to_seconds(time), dates.to_milliseconds(time), dates.to_text(time)):
            if key not in times:
                return key
        time += timedelta(microseconds=1)


_READING = os.O_RDONLY | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFut:
    """A fut in an archive: ``length`` bytes at ``start`` of the file ``warc``.

    ``time`` is as in the suwaf, ``digest`` is ``sha256:`` and hex of the bytes, ``url`` is what the
    fut was fetched from, ``futli`` what the list said. ``label`` is empty for what is thought to be
    the fut, else ``supplement`` or ``other``. ``warc_name`` is ``warc`` as a text.
    """

    pid: Pid
    futli: str
    time: str
    url: str
    digest: str
    warc_name: str
    start: int
    length: int
    label: str = ""

    @property
    def warc(self) -> Path:
        return Path(self.warc_name)  # made where it is asked for: reading a fut costs little else

    def read(self) -> bytes:
        """The whole PDF, by one positioned read; ``ShortWarc`` where the file is too short."""
        try:
            fd = os.open(self.warc_name, _READING)
        except OSError as error:
            _refuse(self, error)
        try:
            data = os.pread(fd, self.length, self.start)
            while len(data) < self.length:  # one read gives at most 2 GiB
                more = os.pread(fd, self.length - len(data), self.start + len(data))
                if not more:
                    raise ShortWarc(self.warc, "ends inside a fut of its suwaf", self.start)
                data += more
            return data
        except OSError as error:
            raise StorageTrouble(self.warc, error) from error
        finally:
            os.close(fd)

    def open(self) -> io.BufferedReader:
        """A binary file object over the PDF alone, seekable; the caller closes it."""
        return io.BufferedReader(_Range(self))


def _refuse(fut: StoredFut, error: OSError) -> NoReturn:
    if isinstance(error, FileNotFoundError):
        raise NotHeld(f"{fut.pid}: its suwaf is here, but {fut.warc} is missing") from None
    raise StorageTrouble(fut.warc, error) from error


class _Range(RangeFile):
    """The bytes of a fut as a file of their own."""

    _file: io.FileIO | None = None  # where opening fails, closing still works

    def __init__(self, fut: StoredFut) -> None:
        try:
            self._file = io.FileIO(fut.warc_name)
        except OSError as error:
            _refuse(fut, error)
        super().__init__(fut.length)
        self._fut = fut

    def pread(self, start: int, length: int) -> bytes:
        assert self._file is not None
        data = os.pread(self._file.fileno(), length, self._fut.start + start)
        if not data:
            raise ShortWarc(self._fut.warc, "ends inside a fut of its suwaf", self._fut.start)
        return data

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        super().close()
