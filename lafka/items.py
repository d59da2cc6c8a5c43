"""Items that spiders yield: a trail that ended, a fobi, a result of a fileset, its stores."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from typing import TYPE_CHECKING, Any

from lafka.papers.walk import Trail

if TYPE_CHECKING:
    from lafka.archec.files.fobi_store import FobiFetch, FobiOutcome
    from lafka.papers.archive.suwafs import Fut


@dataclass(kw_only=True)
class TrailItem:
    """One line of the list and how it ended; its fields are those of the outcome feed.

    ``time``: when it ended, ``YYYY-MM-DDThh:mm:ssZ``. ``futs``: objects with ``url, digest,
    length, s, l, new``, and ``label`` where one is not thought to be the fut. ``candidates``:
    objects with ``url, found_by, score, place, outcome``, in the order in which they were asked.
    ``capped``: links were left that the cap did not allow. ``requests``: with redirects and
    retries, without robots.txt. ``as_written``: the list's own text of the futli. ``trail`` is what
    the pipeline copies; it is no field.
    """

    pid: str
    futli: str
    outcome: str
    time: str
    futs: list[dict[str, Any]] = field(default_factory=list)
    splap: str | None = None
    candidates: list[dict[str, Any]] = field(default_factory=list)
    capped: bool = False
    requests: int = 0
    error: str | None = None
    as_written: str = ""
    trail: InitVar[Trail | None] = None
    line: InitVar[int] = 0

    def __post_init__(self, trail: Trail | None, line: int) -> None:
        self._trail = trail
        self._line = line

    @property
    def number(self) -> int:
        """The number of the list's line, which names the trail within its run."""
        return self._line

    @property
    def ended(self) -> Trail | None:
        """The trail, None where nothing was asked."""
        return self._trail


class ResultItem(dict[str, Any]):
    """The outcome of an ingest request, as it is published: an ingest result, key by key.

    ``number`` is that of the request within its run; ``beside``: it is the result of a file, told
    beside its fileset's, and ends no request.
    """

    number: int = 0
    beside: bool = False


@dataclass(kw_only=True)
class StoreItem:
    """A part of the fileset ``fileset`` to store before its ingest goes on; in no feed.

    The pipeline does ``work`` in a thread, and gives what came of it to ``done``.
    """

    fileset: str
    work: InitVar[Callable[[], Any]]
    done: InitVar[Future[Any]]

    def __post_init__(self, work: Callable[[], Any], done: Future[Any]) -> None:
        self._work = work
        self._done = done

    @property
    def stored(self) -> tuple[Callable[[], Any], Future[Any]]:
        """The work to be done, and the future that waits for it."""
        return self._work, self._done


def item_of(trail: Trail, time: str) -> TrailItem:
    """The item of *trail*, which has ended; its futs are filled in when they are stored."""
    assert trail.outcome is not None
    return TrailItem(
        pid=str(trail.futli.pid),
        futli=trail.futli.url,
        outcome=str(trail.outcome),
        time=time,
        splap=trail.splap.url if trail.splap else None,
        candidates=[
            {
                "url": tried.candidate.url,
                "found_by": tried.candidate.found_by,
                "score": tried.candidate.score,
                "place": tried.candidate.place,
                "outcome": str(tried.outcome),
            }
            for tried in trail.tried
        ],
        capped=trail.capped,
        requests=trail.requests,
        error=trail.error or None,
        as_written=trail.futli.as_written or trail.futli.url,
        trail=trail,
        line=trail.number,
    )


def held_entry(fut: Fut) -> dict[str, Any]:
    """The object of ``futs`` for a fut that was held and not asked for."""
    place = {"length": fut.l, "s": fut.s, "l": fut.l}
    return {"url": fut.url, "digest": fut.digest, **place, "new": False}


FOBI_FIELDS = ["fobi", "outcome", "time", "tist", "way", "status", "kind", "md5", "length",
               "requests", "error"]  # fmt: skip


@dataclass(kw_only=True)
class FobiItem:
    """A fobi that was asked for; its fields are those of the crawl's outcome feed.

    ``outcome``: its incidence, or how it was missed. ``time`` of the answer, ``tist`` of the
    gathering that tells of it; ``way``: the URLs from the fobi to who answered. ``status``,
    ``kind``, ``md5`` and ``length`` are of what is there now. ``got`` is what the pipeline keeps;
    it is no field, and neither is ``number``, that of the ask.
    """

    fobi: str
    outcome: str = ""
    time: str = ""
    tist: int = 0
    way: list[str] = field(default_factory=list)
    status: int | None = None
    kind: str | None = None
    md5: str | None = None
    length: int | None = None
    requests: int = 0
    error: str | None = None
    got: InitVar[FobiFetch]
    owner: InitVar[int]

    def __post_init__(self, got: FobiFetch, owner: int) -> None:
        self._got = got
        self._owner = owner

    @property
    def number(self) -> int:
        """The owner of its exchanges in the raw log."""
        return self._owner

    @property
    def asked(self) -> FobiFetch:
        return self._got

    def became(self, kept: FobiOutcome) -> None:
        """Say what became of it."""
        answer = kept.answer
        self.outcome, self.time, self.tist = kept.outcome, answer.time, kept.tist
        self.way, self.status = list(answer.way), answer.status or None
        self.kind, self.md5, self.length = answer.kind or None, kept.md5, kept.length
        self.error = kept.why or answer.error or None
