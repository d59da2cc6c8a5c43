"""What the tables have of a pid, a suwaf and a line of a feed. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from typing import Any
from urllib.parse import urlsplit

from lafka.papers import Outcome, Pid, Suwaf

_FUT = str(Outcome.FUT)  # a member of an Enum costs a call each time
_YEAR = re.compile(r":y:(1[5-9]\d\d|20\d\d)(?=:|\Z)")
_TIME = re.compile(r"\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\dZ")
_UTF_8 = ("utf-8", "surrogatepass")
_decode = json.JSONDecoder().decode
_DEFAULT_PORTS = {"http": 80, "https": 443}
LARGEST = 1 << 62
LONGEST_ERROR = 300
"""Characters of a line's sentence that are kept."""


class BadLine(ValueError):
    """A line of a feed that does not say what came of a line of a list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """The parts of a pid: ``archive`` and ``series``; ``year`` where the pid itself says it.

    For RePEc and Socionet its second and third part, else its scheme (``doi``) and prefix.
    """

    archive: str
    series: str
    year: int | None = None

    @classmethod
    def of(cls, pid: Pid) -> Named:
        if pid.path.startswith("any/"):
            scheme, found, rest = pid.text.partition(":")
            return cls(archive=scheme if found else "any", series=rest.partition("/")[0])
        _, archive, series, number = pid.text.split(":", 3)
        year = _YEAR.search(f":{number}")
        return cls(archive=archive, series=series, year=int(year[1]) if year else None)


def host_of(url: str) -> str:
    """The host of *url* in lower case, with its port where that is not its scheme's; or empty."""
    end = url.find("/", len("https://"))
    return _host_of(url if end < 0 else url[:end])


@lru_cache(maxsize=4096)
def _host_of(url: str) -> str:
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname or ""
    except ValueError:
        return ""
    if parts.scheme not in _DEFAULT_PORTS or "�" in host or not host.isprintable():
        return ""
    return host if port in (None, _DEFAULT_PORTS[parts.scheme]) else f"{host}:{port}"


def origin_of(url: str) -> str:
    """Scheme and host of *url*, ``https://x.example``; empty where it has none."""
    host = host_of(url)
    return f"{url.partition(':')[0].lower()}://{host}" if host else ""


def digest_bytes(digest: str) -> bytes:
    """A digest as it is stored: the 32 bytes of a ``sha256:``, the text of any other."""
    if digest.startswith("sha256:") and len(digest) == 71:
        try:
            return bytes.fromhex(digest[7:])
        except ValueError:
            pass
    return digest.encode("utf-8", "surrogatepass")


def stored(text: str) -> str:
    """*text* as a database takes it: a lone surrogate, which has no UTF-8, as its escape."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text


def whole(value: object) -> int:
    """*value* as a count or a size, 0 for none; ``ValueError`` for what a database cannot hold."""
    number = int(value or 0)  # type: ignore[call-overload]
    if not 0 <= number < LARGEST:
        raise ValueError(f"not a size: {number}")
    return int(number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What a suwaf says in figures: ``futs`` that are different, the ``first`` and ``last`` time.

    What is labelled, and so thought not to be a fut, does not count.
    """

    futs: int
    first: str | None
    last: str | None

    @classmethod
    def of(cls, suwaf: Suwaf) -> Held:
        every = [(time, fut) for times in suwaf.futlis.values() for time, fut in times.items()]
        futs = [(time, fut) for time, fut in every if not fut.label]
        times = sorted((time for time, _ in futs), key=lambda time: time.removesuffix("Z"))
        digests = {fut.digest or fut.s for _, fut in futs}
        return cls(
            futs=len(digests),
            first=times[0] if times else None,
            last=times[-1] if times else None,
        )


@dataclass(slots=True, kw_only=True)  # millions are made: to freeze one costs thrice as much
class Line:
    """A line of an outcome feed. ``time`` is ``YYYY-MM-DDThh:mm:ssZ``.

    ``new`` and ``size``: futs that were stored, and bytes of them; ``digests``: a number made of
    those of its futs, 0 where there is none; ``landing``: the origin of the page or fut that the
    futli itself led to, empty where that is its own, None where it is not known; ``tried``: how
    many candidates of a page were asked for, ``first_right``: whether the first was the fut.
    """

    pid: str
    futli: str
    outcome: str
    time: str
    requests: int = 0
    new: int = 0
    size: int = 0
    digests: int = 0
    found_by: str | None = None
    landing: str | None = None
    tried: int | None = None
    first_right: bool | None = None
    capped: bool = False
    error: str | None = None

    @property
    def is_held(self) -> bool:
        """Whether the futli had its fut and was not asked."""
        return self.outcome == _FUT and not self.requests

    @classmethod
    def of(cls, data: bytes) -> Line:
        """``BadLine`` where *data* is no such line."""
        try:
            # What json.loads does where it need not look for another encoding.
            is_plain = data.startswith(b'{"')
            return cls._of(_decode(str(data, *_UTF_8)) if is_plain else json.loads(data))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise BadLine(str(error)) from None

    @classmethod
    def _of(cls, values: Mapping[str, Any]) -> Line:
        pid, futli, outcome, time = (values[key] for key in ("pid", "futli", "outcome", "time"))
        if not all(isinstance(text, str) for text in (pid, futli, outcome, time)):
            raise BadLine("something in it is no text")
        if not _TIME.fullmatch(time) or outcome not in _OUTCOMES:
            raise BadLine(f"it has the time {time!r} and the outcome {outcome!r}")
        datetime.fromisoformat(time)
        requests, error = whole(values.get("requests")), values.get("error")
        told = stored(str(error))[:LONGEST_ERROR] if error else None
        asked = requests or outcome != _FUT
        trail = _trail(values, futli) if asked else {}
        return cls(pid=stored(pid), futli=stored(futli), outcome=outcome, time=time,
                   requests=requests, error=told, **trail)  # fmt: skip


def _trail(values: Mapping[str, Any], futli: str) -> dict[str, Any]:
    """What a line that was asked says of its trail."""
    every = values.get("futs") or []
    futs = [fut for fut in every if not fut.get("label")]
    new = [fut for fut in futs if fut["new"]]
    tried, splap = values.get("candidates") or [], values.get("splap")
    right = next((one for one in tried if one["outcome"] == _FUT), None)
    way = splap or (futs[0]["url"] if futs and not tried else None)
    return {
        "new": len(new),
        "size": sum(whole(fut["length"]) for fut in new),
        "digests": _number_of(fut["digest"] for fut in every),
        "found_by": stored(right["found_by"]) if right else None,
        "landing": _landing(futli, way) if way else None,
        "tried": len(tried) if splap else None,
        "first_right": tried[0]["outcome"] == _FUT if splap and tried else None,
        "capped": bool(values.get("capped")),
    }


_OUTCOMES = frozenset(map(str, Outcome))


def _landing(futli: str, url: str) -> str:
    origin = stored(origin_of(url))
    return "" if origin == origin_of(futli) else origin


def _number_of(digests: Iterable[str]) -> int:
    text = "\n".join(sorted(digests))
    hashed = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(hashed) >> 1 if text else 0


@dataclass(slots=True, kw_only=True)
class AskedRow:
    """Asks in a row that came to the same: a row of ``asked``.

    The first at ``time`` in ``run``, the last at ``until`` in ``last_run``, ``times`` many;
    ``requests`` and ``new`` of all of them, the rest of the last. Runs are named.
    """

    time: str
    run: str
    outcome: str
    times: int
    until: str
    last_run: str
    requests: int
    new: int
    digests: int
    found_by: str | None
    landing: str | None
    tried: int | None
    first_right: bool | None
    capped: bool
    error: str | None

    @classmethod
    def of(cls, run: str, line: Line) -> AskedRow:
        return cls(
            time=line.time, run=run, outcome=line.outcome, times=1, until=line.time, last_run=run,
            requests=line.requests, new=line.new, digests=line.digests, found_by=line.found_by,
            landing=line.landing, tried=line.tried, first_right=line.first_right,
            capped=line.capped, error=line.error,
        )  # fmt: skip

    @classmethod
    def of_values(cls, *values: Any) -> AskedRow:
        """The row with *values* in the order of its fields."""
        return cls(**dict(zip(cls.__slots__, values, strict=True)))

    @property
    def place(self) -> tuple[str, str]:
        """What orders lines of a futli: the time of the last here, and its run."""
        return self.until, self.last_run

    def is_same(self, line: Line, *, apart: bool) -> bool:
        """Whether *line* came to the same; *apart*: one of the two runs asked a gateway."""
        mine = (self.outcome, self.digests, self.landing)
        return not apart and mine == (line.outcome, line.digests, line.landing)

    def with_line(self, run: str, line: Line) -> AskedRow:
        return replace(
            self.of(run, line),
            time=self.time,
            run=self.run,
            times=self.times + 1,
            requests=self.requests + line.requests,
            new=self.new + line.new,
        )


def folded(
    lines: Iterable[tuple[str, Line]], legacy: Container[str] = frozenset()
) -> list[AskedRow]:
    """The rows of one futli's *lines*, each with its run, in any order and however often told.

    Of lines of one run and time the later of *lines* stands. *legacy*: runs that asked a gateway.
    """
    told = {(line.time, run): line for run, line in lines}
    rows: list[AskedRow] = []
    for (_, run), line in sorted(told.items(), key=lambda one: one[0]):
        last = rows[-1] if rows else None
        if last and last.is_same(line, apart=(run in legacy) != (last.last_run in legacy)):
            rows[-1] = last.with_line(run, line)
        else:
            rows.append(AskedRow.of(run, line))
    return rows
