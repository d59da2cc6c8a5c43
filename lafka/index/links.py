"""The life of a futli: what became of a link that once led to a fut.

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
nothing, since what comes in is sorted and told apart before (``rows.folded``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from lafka.papers import Outcome

NEVER, HELD, SUSPECT, PAGE, LOST, BACK = (
    "never", "held", "suspect", "was-fut-now-page", "lost", "back",
)  # fmt: skip
STATES = (HELD, BACK, SUSPECT, PAGE, LOST, NEVER)
NOT_THERE = frozenset((Outcome.NOT_FOUND, Outcome.GONE, Outcome.DNS, Outcome.BAD_URL))
NO_ASK = frozenset((Outcome.EXCLUDED, Outcome.RESTRICTED, Outcome.DAMAGED, Outcome.BAD_PID))
"""Outcomes that say nothing of the link: nothing was asked, or the trouble is the archive's own."""
GONE_DAYS, GONE_ASKS = 7.0, 2
CLOSED_DAYS, CLOSED_ASKS = 30.0, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Asks:
    """Asks in a row that ended alike: the first at ``time``, the last at ``until``, ``times`` many.

    Times are ``YYYY-MM-DDThh:mm:ssZ``.
    """

    time: str
    until: str
    outcome: str
    times: int = 1


@dataclass(slots=True, kw_only=True)
class Life:
    """What became of a futli. Times are None where there is none.

    ``asks``: how many there were; ``asked``: the last; ``first_had``, ``had``: the first and the
    last time of a fut; ``fails``: failing asks in a row, up to now; ``lost_since``: the first of
    them, where it is lost, and ``lost_by`` the word; ``back_since``: when it last came back.
    """

    state: str = NEVER
    asks: int = 0
    asked: str | None = None
    first_had: str | None = None
    had: str | None = None
    fails: int = 0
    lost_since: str | None = None
    lost_by: str | None = None
    back_since: str | None = None

    # Changed in place while it is told: an index of a million papers tells millions of lives.

    def count(self, asks: Asks) -> None:
        self.asks += asks.times
        self.asked = asks.until

    def have(self, first: str, last: str) -> None:
        """A fut from *first* to *last*."""
        lost = self.state == LOST
        self.state = BACK if lost or self.state == BACK else HELD
        self.first_had = self.first_had or first
        if self.had is None or last.removesuffix("Z") > self.had.removesuffix("Z"):
            self.had = last
        self.fails, self.lost_since, self.lost_by = 0, None, None
        if lost:
            self.back_since = first

    def fail(self, row: _Row) -> None:
        """Failing asks, *row* of them by now."""
        self.fails = row.count
        if self.had is None:
            return
        if (word := row.lost_by()) is not None:
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

    def add(self, asks: Asks, *, times: int) -> None:
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
    return datetime.fromisoformat(text.removesuffix("Z")).replace(tzinfo=UTC)


def life(asks: Sequence[Asks], futs: Sequence[str]) -> Life:
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


def _in_order(asks: Sequence[Asks], futs: Sequence[str]) -> Iterator[Asks | str]:
    """Both by time; a fut before the asks that began when it was captured, or later.

    Asks that ended otherwise and span a fut's time are told after it.
    """
    events: list[tuple[str, int, Asks | str]] = [(time.removesuffix("Z"), 0, time) for time in futs]
    for ask in asks:
        at = ask.time if ask.outcome == Outcome.FUT else ask.until
        events.append((at.removesuffix("Z"), 1, ask))
    return (event for _, _, event in sorted(events, key=lambda one: one[:2]))
