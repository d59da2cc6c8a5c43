"""The values that the tables have of a pid, a suwaf and a line of a feed, and the life of a futli.

``never``               it never had one
``held``                its last word was a fut
``suspect``             an ask after that ended otherwise
``was-fut-now-page``    suspect, and what is there is a page
``lost``                the row of failing asks spans a week, and two of them say *not there*; or it
                        spans thirty days and is of three asks or more
``back``                a fut again, after it was lost, until the next ask

An ask is a line of a feed for which somebody tried to ask: not one that is held, excluded,
restricted or damaged, and not one of a run that asked a gateway for legacy data. What a single
timeout or robots.txt says, never makes a link lost; three over a month make it closed, not gone:
``lost_by`` has the word. Pure: no clock, no file. Order of feeds and repetition of lines change
nothing, since what comes in is sorted and told apart before (:func:`folded`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from hashlib import blake2b
from typing import Any
from urllib.parse import urlsplit

import msgspec

from lafka.papers import Outcome, Pid, Suwaf
from lafka.warc.format.dates import to_seconds

_FUT = str(Outcome.FUT)  # a member of an Enum costs a call each time
_BAD_PID = str(Outcome.BAD_PID)
_YEAR = re.compile(r":y:(1[5-9]\d\d|20\d\d)(?=:|\Z)")
_TIME = re.compile(r"\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\dZ")
_decode = msgspec.json.Decoder().decode
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
class HeldFuts:
    """A suwaf in figures: ``futs`` that are different, the ``first`` and ``last`` time.

    What is labelled, and so thought not to be a fut, does not count.
    """

    futs: int
    first: str | None
    last: str | None

    @classmethod
    def of(cls, suwaf: Suwaf) -> HeldFuts:
        every = [(time, fut) for times in suwaf.futlis.values() for time, fut in times.items()]
        futs = [(time, fut) for time, fut in every if not fut.label]
        times = sorted((time for time, _ in futs), key=lambda time: time.removesuffix("Z"))
        digests = {fut.digest or fut.s for _, fut in futs}
        return cls(
            futs=len(digests),
            first=times[0] if times else None,
            last=times[-1] if times else None,
        )


@dataclass(slots=True)  # millions are made: to freeze one costs thrice as much
class FeedLine:
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
        """True where the futli had its fut and was not asked."""
        return self.outcome == _FUT and not self.requests

    @property
    def has_pid(self) -> bool:
        """True where the line's pid is one, so that a paper may have it."""
        return self.outcome != _BAD_PID

    @property
    def is_asked(self) -> bool:
        """True where the line is one of those that the life of a futli is told by."""
        return self.has_pid and not self.is_held

    @classmethod
    def of(cls, data: bytes) -> FeedLine:
        """``BadLine`` where *data* is no such line."""
        try:
            return cls._of(values_in(data))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise BadLine(str(error)) from None

    @classmethod
    def _of(cls, values: Mapping[str, Any]) -> FeedLine:
        pid, futli, outcome, time = (values[key] for key in ("pid", "futli", "outcome", "time"))
        if not all(isinstance(text, str) for text in (pid, futli, outcome, time)):
            raise BadLine("something in it is no text")
        if not _TIME.fullmatch(time) or outcome not in _OUTCOMES:
            raise BadLine(f"it has the time {time!r} and the outcome {outcome!r}")
        datetime.fromisoformat(time)
        requests, error = whole(values.get("requests")), values.get("error")
        text = stored(str(error))[:LONGEST_ERROR] if error else None
        asked = requests or outcome != _FUT
        trail = _trail(values, futli) if asked else {}
        return cls(pid=stored(pid), futli=stored(futli), outcome=outcome, time=time,
                   requests=requests, error=text, **trail)  # fmt: skip


def values_in(data: bytes) -> Any:
    """What ``json.loads`` makes of *data*, at a third of its cost where it is plain JSON."""
    with suppress(msgspec.DecodeError, UnicodeDecodeError):
        return _decode(data)
    return json.loads(data)


def _trail(values: Mapping[str, Any], futli: str) -> dict[str, Any]:
    """Return what a line that was asked says of its trail."""
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


@dataclass(slots=True)
class AskedRow:
    """Asks in a row that came to the same: a row of ``asked``.

    The first at ``time`` in ``run``, the last at ``until`` in ``last_run``, ``times`` many;
    ``requests`` and ``new`` of all of them, ``steps`` of the first (:func:`step_times`), the rest
    of the last. Runs are named.
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
    steps: str = ""

    @classmethod
    def of(cls, run: str, line: FeedLine) -> AskedRow:
        return cls(
            time=line.time, run=run, outcome=line.outcome, times=1, until=line.time, last_run=run,
            requests=line.requests, new=line.new, digests=line.digests, found_by=line.found_by,
            landing=line.landing, tried=line.tried, first_right=line.first_right,
            capped=line.capped, error=line.error,
        )  # fmt: skip

    @property
    def place(self) -> tuple[str, str]:
        """The key that orders lines of a futli: the time of the last here, and its run."""
        return self.until, self.last_run

    def is_same(self, line: FeedLine, *, apart: bool) -> bool:
        """Return whether *line* came to the same; *apart*: one of the two runs asked a gateway."""
        mine = (self.outcome, self.digests, self.landing)
        return not apart and mine == (line.outcome, line.digests, line.landing)

    def with_line(self, run: str, line: FeedLine) -> AskedRow:
        row = self.of(run, line)
        row.time, row.run, row.times = self.time, self.run, self.times + 1
        row.requests += self.requests
        row.new += self.new
        row.steps = self._steps(line)
        return row

    def _steps(self, line: FeedLine) -> str:
        """The steps with that of *line*, while it can still decide whether a link is lost."""
        first = moment(self.time)
        if self.times >= CLOSED_ASKS and (
            line.outcome == _FUT or (moment(self.until) - first).days >= CLOSED_DAYS
        ):
            return self.steps
        return f"{self.steps} {int((moment(line.time) - first).total_seconds())}".lstrip()


def step_times(time: str, steps: str) -> list[str]:
    """Return the times of the first asks of a row that began at *time*.

    *steps* are seconds after it; there are no more once a row of failing asks spans thirty days and
    has three, for no later one changes the state of the link.
    """
    first = moment(time)
    later = (first + timedelta(seconds=int(step)) for step in steps.split())
    return [time, *map(to_seconds, later)]


def folded(
    lines: Iterable[tuple[str, FeedLine]], legacy: Container[str] = frozenset()
) -> list[AskedRow]:
    """The rows of one futli's *lines*, each with its run, in any order and however often said.

    Of lines of one run and time the later of *lines* stands. *legacy*: runs that asked a gateway.
    """
    latest = {(line.time, run): line for run, line in lines}
    rows: list[AskedRow] = []
    for (_, run), line in sorted(latest.items(), key=lambda one: one[0]):
        last = rows[-1] if rows else None
        if last and last.is_same(line, apart=(run in legacy) != (last.last_run in legacy)):
            rows[-1] = last.with_line(run, line)
        else:
            rows.append(AskedRow.of(run, line))
    return rows


NEVER, HELD, SUSPECT, PAGE, LOST, BACK = (
    "never", "held", "suspect", "was-fut-now-page", "lost", "back",
)  # fmt: skip
STATES = (HELD, BACK, SUSPECT, PAGE, LOST, NEVER)
NOT_THERE = frozenset((Outcome.NOT_FOUND, Outcome.GONE, Outcome.DNS))
NO_ASK = frozenset((
    Outcome.EXCLUDED, Outcome.RESTRICTED, Outcome.DAMAGED, Outcome.BAD_PID, Outcome.BAD_URL,
))  # fmt: skip
"""Outcomes that say nothing of the link: nothing was asked, or the trouble is the archive's own."""
GONE_DAYS, GONE_ASKS = 7.0, 2
CLOSED_DAYS, CLOSED_ASKS = 30.0, 3


@dataclass(slots=True)
class AskRun:
    """Asks in a row that ended alike: the first at ``time``, the last at ``until``, ``times`` many.

    Times are ``YYYY-MM-DDThh:mm:ssZ``.
    """

    time: str
    until: str
    outcome: str
    times: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkEvent:
    """A link is ``lost``, or ``back``: since when, by which word, and when it was last had."""

    time: str
    kind: str
    outcome: str
    had: str


@dataclass(slots=True, kw_only=True)
class Life:
    """The state of a futli, and its history in figures. Times are None where there is none.

    ``asks``: how many there were; ``asked``: the last; ``first_had``, ``had``: the first and the
    last time of a fut; ``fails``: failing asks in a row, up to now, ``fails_since``: the first of
    them; ``lost_since``: the same, where it is lost, and ``lost_by`` the word; ``back_since``: when
    it last came back; ``events``: each time that it was lost or came back, oldest first.
    """

    state: str = NEVER
    asks: int = 0
    asked: str | None = None
    first_had: str | None = None
    had: str | None = None
    fails: int = 0
    fails_since: str | None = None
    lost_since: str | None = None
    lost_by: str | None = None
    back_since: str | None = None
    events: list[LinkEvent] = field(default_factory=list)

    # Changed in place while it goes on: an index of a million papers has millions of lives.

    def count(self, asks: AskRun) -> None:
        self.asks += asks.times
        self.asked = asks.until

    def have(self, first: str, last: str) -> None:
        """A fut from *first* to *last*."""
        lost = self.state == LOST
        self.state = BACK if lost or self.state == BACK else HELD
        self.first_had = self.first_had or first
        if self.had is None or last.removesuffix("Z") > self.had.removesuffix("Z"):
            self.had = last
        self.fails, self.fails_since, self.lost_since, self.lost_by = 0, None, None, None
        if lost:
            self.back_since = first
            self.events.append(LinkEvent(time=first, kind=BACK, outcome=_FUT, had=first))

    def fail(self, row: _Row) -> None:
        """Failing asks, *row* of them by now."""
        self.fails, self.fails_since = row.count, row.first
        if self.had is None:
            return
        if (word := row.lost_by()) is not None:
            if self.state == LOST:
                self.events.pop()
            self.events.append(LinkEvent(time=row.first, kind=LOST, outcome=word, had=self.had))
            self.state, self.lost_since, self.lost_by = LOST, row.first, word
        else:
            self.state = PAGE if row.outcome == Outcome.SPLAP_ONLY else SUSPECT


@dataclass(slots=True)
class _Row:
    """Failing asks in a row since the last fut, and whether there was one."""

    first: str = ""
    last: str = ""
    count: int = 0
    not_there: int = 0
    word: str = ""
    """The last that says *not there*."""
    outcome: str = ""

    def add(self, asks: AskRun, *, times: int) -> None:
        self.first = self.first or (asks.time if times == asks.times else asks.until)
        self.last = asks.until
        self.count += times
        if asks.outcome in NOT_THERE:
            self.not_there += times
            self.word = asks.outcome
        self.outcome = asks.outcome

    def lost_by(self) -> str | None:
        """The word by which the link is lost, None while it is not."""
        span = days_between(self.first, self.last) if self.count > 1 else 0.0
        if span >= GONE_DAYS and self.not_there >= GONE_ASKS:
            return self.word
        return self.outcome if span >= CLOSED_DAYS and self.count >= CLOSED_ASKS else None


def days_between(first: str, last: str) -> float:
    """Days from *first* to *last*, both as in suwafs and feeds."""
    return (moment(last) - moment(first)).total_seconds() / 86_400


def moment(text: str) -> datetime:
    """The moment that *text* names, ``YYYY-MM-DDThh:mm:ss`` with a fraction or without."""
    return datetime.fromisoformat(text if text.endswith("Z") else f"{text}Z")


def life(asks: Sequence[AskRun], futs: Sequence[str]) -> Life:
    """The life of a futli with *asks*, oldest first, and the times of its *futs* in the archive.

    A fut is in the archive before its line is in a feed, so one ask is seen twice: what the archive
    says then is no ask of its own.
    """
    at, row, returned = Life(), _Row(), False
    for event in _in_order(asks, futs):
        if isinstance(event, str):
            returned = returned or at.state == LOST
            at.have(event, event)
            row = _Row()
        elif event.outcome == Outcome.FUT:
            was_back = at.state == BACK and not returned
            at.have(event.time, event.until)
            if at.state == BACK and (was_back or event.times > 1):
                at.state = HELD
            at.count(event)
            row, returned = _Row(), False
        elif event.outcome not in NO_ASK:
            inside = bool(at.had and at.had[:19] > event.time[:19])
            row.add(event, times=1 if inside else event.times)
            at.count(event)
            at.fail(row)
            returned = False
    return at


def _in_order(asks: Sequence[AskRun], futs: Sequence[str]) -> Iterator[AskRun | str]:
    """Both by time; a fut before the asks that began when it was captured, or later.

    Asks that ended otherwise and span a fut's time come after it.
    """
    events: list[tuple[str, int, AskRun | str]] = [
        (time.removesuffix("Z"), 0, time) for time in futs
    ]
    for ask in asks:
        at = ask.time if ask.outcome == Outcome.FUT else ask.until
        events.append((at.removesuffix("Z"), 1, ask))
    return (event for _, _, event in sorted(events, key=lambda one: one[:2]))
