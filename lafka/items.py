"""What the spider yields: a trail that has ended, as the outcome feed tells it."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field
from typing import Any

from lafka.papers.walk.trails import Trail


@dataclass(kw_only=True)
class TrailItem:
    """One line of the list and how it ended; its fields are those of the outcome feed.

    ``time``: when it ended, ``YYYY-MM-DDThh:mm:ssZ``. ``futs``: objects with ``url, digest,
    length, s, l, new``, and ``label`` where one is not thought to be the fut. ``candidates``:
    objects with ``url, found_by, score, place, outcome``, in the order in which they were asked.
    ``capped``: links were left that the cap did not allow. ``requests``: with redirects and
    retries, without robots.txt. ``trail`` is what the pipeline copies; it is no field.
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
        trail=trail,
        line=trail.number,
    )
