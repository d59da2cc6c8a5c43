import pickle
from copy import deepcopy
from datetime import UTC, datetime

from itemadapter import ItemAdapter

from lafka.items import TrailItem, item_of
from lafka.papers.candidates import Candidate
from lafka.papers.lists.futlis import Futli
from lafka.papers.outcomes import Outcome, PageReading
from lafka.papers.walk import Capture, Trail
from lafka.pids import SCHEMES

FUTLI = Futli(pid=SCHEMES["RePEc"].pid("repec:ABC:wpaper:1"), url="HTTP://x.example/abs/1 ")
TIME = datetime(2026, 11, 20, 10, 11, 12, tzinfo=UTC)
FIELDS = [
    "pid", "futli", "outcome", "time", "futs", "splap", "candidates", "capped", "requests", "error",
    "as_written",
]  # fmt: skip


def ended() -> Trail:
    """A trail from a splap by one miss to a fut."""
    trail, ask = Trail.begin(FUTLI, 7).next_ask()
    assert ask is not None
    found = (
        Candidate(url="http://x.example/a", found_by="citation_pdf_url", score=9.5, place=3),
        Candidate(url="http://x.example/b", found_by="anchor", score=2.0, place=0),
    )
    page = Capture(ask=ask, url="http://x.example/x", time=TIME, outcome=Outcome.SPLAP_ONLY)
    trail = trail.answered(page, PageReading(candidates=found))
    for outcome in (Outcome.GONE, Outcome.FUT):
        trail, ask = trail.next_ask()
        assert ask is not None
        trail = trail.answered(
            Capture(ask=ask, url=ask.url, time=TIME, outcome=outcome, requests=2)
        )
    return trail.next_ask()[0]


def test_an_item_has_the_fields_of_the_feed_and_no_other() -> None:
    item = item_of(ended(), "2026-11-20T10:11:13Z")
    assert list(ItemAdapter(item).asdict()) == FIELDS
    assert ItemAdapter(item).asdict() == {
        "pid": "RePEc:abc:wpaper:1",
        "futli": "HTTP://x.example/abs/1 ",
        "outcome": "fut",
        "time": "2026-11-20T10:11:13Z",
        "futs": [],
        "splap": "http://x.example/x",
        "candidates": [
            {
                "url": "http://x.example/a",
                "found_by": "citation_pdf_url",
                "score": 9.5,
                "place": 3,
                "outcome": "gone",
            },
            {
                "url": "http://x.example/b",
                "found_by": "anchor",
                "score": 2.0,
                "place": 0,
                "outcome": "fut",
            },
        ],
        "capped": False,
        "requests": 5,
        "error": None,
        "as_written": "HTTP://x.example/abs/1 ",
    }


def test_an_item_carries_its_trail_and_its_line() -> None:
    trail = ended()
    item = item_of(trail, "")
    assert item.ended == trail
    assert item.number == 7
    for again in (deepcopy(item), pickle.loads(pickle.dumps(item))):
        assert again == item
        assert (again.ended, again.number) == (trail, 7)


def test_a_line_that_was_not_asked_has_no_trail() -> None:
    item = TrailItem(pid="x", futli="y", outcome="bad-pid", time="", error="no", line=3)
    assert item.ended is None
    assert item.number == 3
    assert ItemAdapter(item).asdict()["splap"] is None
