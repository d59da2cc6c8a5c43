import pickle
from dataclasses import replace
from datetime import UTC, datetime
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.capture.logged import LoggedExchange
from lafka.papers.candidates import CITATION_PDF_URL, KEPT, Candidate
from lafka.papers.lists.futlis import Futli
from lafka.papers.outcomes import Outcome, PageReading
from lafka.papers.walk import (
    MISS_MAX,
    TAIL,
    VIEWER_MAX,
    Ask,
    Capture,
    Links,
    Policy,
    Trail,
)
from lafka.pids import SCHEMES
from tests.capture.test_verdicts import answer

SITE = "http://x.example"
FUTLI = Futli(pid=SCHEMES["RePEc"].pid("RePEc:abc:wpaper:1"), url=f"{SITE}/abs/1")
TIME = datetime(2026, 11, 20, 10, 11, 12, 500_000, tzinfo=UTC)


def capture(
    ask: Ask, outcome: Outcome, url: str = "", hops: tuple[str, ...] = (), requests: int = 1
) -> Capture:
    kind = {Outcome.FUT: b"pdf", Outcome.SPLAP_ONLY: b"html"}.get(outcome, b"other")
    payload = replace(answer(kind), digest=f"sha256:{ask.url}")
    return Capture(
        ask=ask,
        url=url or ask.url,
        time=TIME,
        outcome=outcome,
        payload=payload,
        exchanges=tuple(LoggedExchange(url=u, time=TIME) for u in hops),
        requests=requests,
    )


def link(name: str, *, sure: bool = False, label: str = "fut", by: str = "anchor") -> Candidate:
    return Candidate(url=f"{SITE}/{name}", found_by=by, promising=sure, label=label)


def cite(name: str, label: str = "fut") -> Candidate:
    return link(name, by=CITATION_PDF_URL, label=label)


def walk(
    trail: Trail,
    answers: dict[str, Outcome],
    viewers: dict[str, tuple[Candidate, ...]] | None = None,
) -> tuple[Trail, list[str]]:
    """*trail* to its end, and the names of the candidates it asked for."""
    asked = []
    while True:
        trail, ask = trail.next_ask()
        if ask is None:
            return trail, asked
        name = ask.url.removeprefix(f"{SITE}/")
        asked.append(name)
        found = (viewers or {}).get(name, ())
        trail = trail.answered(capture(ask, answers.get(name, Outcome.NOT_FOUND)), page_of(*found))


def page_of(*candidates: Candidate, **values: Any) -> PageReading:
    return PageReading(candidates=candidates, **values)


def splap(
    *candidates: Candidate, links: Links = Links.RANKED, most: int = 50, verdict: str = "splap-only"
) -> Trail:
    trail, ask = Trail.begin(FUTLI, 7, Policy(links=links, links_max=most)).next_ask()
    assert ask is not None
    page = capture(ask, Outcome.SPLAP_ONLY)
    return trail.answered(page, page_of(*candidates, verdict=Outcome(verdict)))


FUT, PAGE, GONE = Outcome.FUT, Outcome.SPLAP_ONLY, Outcome.GONE

# What the futli leads to -------------------------------------------------------------------


def test_the_futli_is_asked_for_first_and_whole() -> None:
    trail, ask = Trail.begin(FUTLI, 7).next_ask()
    assert ask == Ask(futli=FUTLI, number=7, url=FUTLI.url)
    assert ask.miss_max == 0
    assert trail.outcome is None


@pytest.mark.parametrize("outcome", [o for o in Outcome if o is not Outcome.SPLAP_ONLY])
def test_whatever_is_no_page_ends_the_trail(outcome: Outcome) -> None:
    trail, ask = Trail.begin(FUTLI, 7).next_ask()
    assert ask is not None
    found = replace(capture(ask, outcome, requests=3), error="x" * (outcome is not FUT))
    trail = trail.answered(found, page_of(link("a")))
    assert trail.outcome is outcome
    assert trail.requests == 3
    assert trail.error == found.error
    assert trail.captures == ((found,) if outcome in (FUT, Outcome.OTHER_TYPE) else ())
    assert trail.next_ask() == (trail, None)


def test_a_page_is_the_splap_and_its_candidates_are_asked_for() -> None:
    trail, ask = splap(link("a.pdf")).next_ask()
    assert trail.splap is not None
    assert trail.captures == (trail.splap,)
    assert ask is not None
    assert (ask.url, ask.origin.found_by) == (f"{SITE}/a.pdf", "anchor")
    assert (ask.origin.html_url, ask.origin.html_date) == (FUTLI.url, "2026-11-20T10:11:12Z")
    assert (ask.futli, ask.number, ask.origin.label) == (FUTLI, 7, "")


def test_html_url_is_where_the_splap_was_in_the_end() -> None:
    trail, ask = Trail.begin(FUTLI, 7).next_ask()
    assert ask is not None
    trail = trail.answered(
        capture(ask, PAGE, url=f"{SITE}/landing"), page_of(link("a"), link("landing"))
    )
    trail, ask = trail.next_ask()
    assert ask is not None
    assert ask.origin.html_url == f"{SITE}/landing"
    assert trail.pending == ()  # the splap itself is no candidate


# The walk over candidates ------------------------------------------------------------------

WALKS = {
    "nothing to ask": ((), "ranked", {}, "", "splap-only"),
    "citation ends the trail": (
        (cite("c"), link("a", sure=True)), "ranked", {"c": FUT}, "c", "fut",
    ),
    "citation ends it in all": ((cite("c"), link("a")), "all", {"c": FUT, "a": FUT}, "c", "fut"),
    "citation missed, links go on": (
        (cite("c"), link("a"), link("b")), "all", {"b": FUT}, "c a b", "fut",
    ),
    "every citation is asked until one is": (
        (cite("c"), cite("d"), cite("e"), link("a", sure=True)), "ranked", {"d": FUT}, "c d", "fut",
    ),
    "a citation of a supplement does not end it": (
        (cite("c", "supplement"), link("a")), "ranked", {"c": FUT, "a": FUT}, "c a", "fut",
    ),
    "ranked: all that promise, and every PDF is kept": (
        (link("a", sure=True), link("b", sure=True), link("x")), "ranked", {"a": FUT, "b": FUT},
        "a b", "fut",
    ),
    "ranked: the rest only until one is a fut": (
        (link("a", sure=True), link("x"), link("y"), link("z")), "ranked", {"y": FUT, "z": FUT},
        "a x y", "fut",
    ),
    "ranked: what promises is asked wherever it stands": (
        (link("x"), link("y"), link("a", sure=True)), "ranked", {"x": FUT}, "x a", "fut",
    ),
    "first: the first fut is enough": (
        (link("a", sure=True), link("b", sure=True)), "first", {"a": FUT, "b": FUT}, "a", "fut",
    ),
    "first: a supplement is not": (
        (link("s", label="supplement"), link("b")), "first", {"s": FUT, "b": FUT}, "s b", "fut",
    ),
    "all: every link": (
        (link("a", sure=True), link("x"), link("y")), "all", {"a": FUT, "y": FUT}, "a x y", "fut",
    ),
    "a supplement alone is no fut": (
        (link("s", label="supplement"), link("o")), "ranked", {"s": FUT}, "s o", "splap-only",
    ),
    "each link once": (
        (link("a"), link("b"), link("a"), link("abs/1")), "all", {}, "a b", "splap-only",
    ),
    "no fut anywhere": ((link("a"), link("b")), "ranked", {"a": GONE}, "a b", "splap-only"),
    "what is cut or too big is no fut": (
        (link("a", sure=True), link("b")), "ranked",
        {"a": Outcome.TRUNCATED, "b": Outcome.TOO_BIG}, "a b", "splap-only",
    ),
    "what is neither is no fut": (
        (link("a"),), "ranked", {"a": Outcome.OTHER_TYPE}, "a", "splap-only",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WALKS)
def test_walks(name: str) -> None:
    candidates, links, answers, expected, outcome = WALKS[name]
    trail, asked = walk(splap(*candidates, links=Links(links)), answers)
    assert asked == expected.split()
    assert trail.outcome == outcome
    assert [t.candidate.url for t in trail.tried] == [f"{SITE}/{n}" for n in asked]
    got = [n for n in asked if answers.get(n) is FUT]
    assert [c.ask.url for c in trail.captures] == [FUTLI.url, *(f"{SITE}/{n}" for n in got)]
    assert trail.requests == 1 + len(asked)
    assert not trail.capped
    assert trail.error == ""


@pytest.mark.parametrize("links", [Links.RANKED, Links.FIRST])
@pytest.mark.parametrize(("kind", "tail"), [("list", 0), ("paper", TAIL)])
def test_few_are_asked_for_beyond_what_promises(links: Links, kind: str, tail: int) -> None:
    trail, ask = Trail.begin(FUTLI, 7, Policy(links=links)).next_ask()
    assert ask is not None
    found = (*(link(f"{n}") for n in range(9)), link("p", sure=True), cite("c"))
    trail, asked = walk(trail.answered(capture(ask, PAGE), page_of(*found, kind=kind)), {})
    assert asked == [*(f"{n}" for n in range(tail)), "p", "c"]
    assert not trail.capped


def test_all_asks_for_every_link_whatever_the_page() -> None:
    trail, ask = Trail.begin(FUTLI, 7, Policy(links=Links.ALL)).next_ask()
    assert ask is not None
    found = tuple(link(f"{n}") for n in range(9))
    _, asked = walk(trail.answered(capture(ask, PAGE), page_of(*found, kind="list")), {})
    assert len(asked) == 9


@pytest.mark.parametrize(
    ("links", "likely", "is_kept"),
    [(Links.RANKED, 0.0, False), (Links.RANKED, KEPT, True), (Links.ALL, 0.0, True)],
)
def test_a_pdf_of_others_is_kept_in_all_alone(
    links: Links, likely: float, *, is_kept: bool
) -> None:
    other = replace(link("o", label="other"), probability=likely)
    trail, asked = walk(splap(other, links=links), {"o": FUT})
    assert asked == ["o"]
    assert [t.outcome for t in trail.tried] == ["fut"]
    assert [c.ask.url for c in trail.captures[1:]] == ([other.url] if is_kept else [])
    assert trail.outcome == "splap-only"


@pytest.mark.parametrize("links", [Links.ALL])
@pytest.mark.parametrize("count", [4, 5, 6, 60])
def test_a_cap_on_links_says_that_it_was_met(links: Links, count: int) -> None:
    trail, asked = walk(splap(*(link(f"{n}") for n in range(count)), links=links, most=5), {})
    assert len(asked) == min(count, 5)
    assert trail.capped == (count > 5)
    assert trail.outcome == "splap-only"


def test_a_cap_that_stops_nothing_is_not_told() -> None:
    links = tuple(link(f"{n}") for n in range(9))
    trail, asked = walk(splap(*links, most=3), {"2": FUT})
    assert (asked, trail.capped, trail.outcome) == (["0", "1", "2"], False, FUT)


def test_a_capped_trail_keeps_its_fut() -> None:
    links = tuple(link(f"{n}") for n in range(9))
    trail, _ = walk(splap(*links, links=Links.ALL, most=3), {"1": FUT})
    assert (trail.outcome, trail.capped) == (FUT, True)


def test_where_a_candidate_was_redirected_to_is_not_asked_again() -> None:
    trail, ask = splap(
        link("get/1"), link("hop"), link("1.pdf"), link("b"), links=Links.ALL
    ).next_ask()
    assert ask is not None
    hops = (ask.url, f"{SITE}/hop", f"{SITE}/1.pdf")
    trail = trail.answered(capture(ask, FUT, url=hops[-1], hops=hops, requests=3))
    trail, asked = walk(trail, {})
    assert asked == ["b"]
    assert trail.requests == 5


def test_a_page_of_a_hundred_thousand_links_makes_a_small_trail() -> None:
    trail = splap(*(link(f"{n}") for n in range(100_000)))
    assert len(pickle.dumps(trail)) < 20_000


# Viewers -----------------------------------------------------------------------------------


def test_a_viewer_is_looked_into_and_kept_where_it_led_to_a_fut() -> None:
    found = (link("v.pdf", sure=True), link("other", sure=False), link("a"), link("b", sure=True))
    trail, asked = walk(
        splap(cite("view"), link("b", sure=True)), {"view": PAGE, "v.pdf": FUT}, {"view": found}
    )
    assert asked == ["view", "v.pdf"]  # citation_pdf_url gave it, by way of its viewer
    assert trail.outcome is FUT
    assert [c.ask.url for c in trail.captures] == [FUTLI.url, f"{SITE}/view", f"{SITE}/v.pdf"]
    assert trail.captures[2].ask.origin.html_url == f"{SITE}/view"
    assert trail.tried[0].outcome == "html"


def test_a_viewer_that_leads_nowhere_is_not_kept_and_links_go_on() -> None:
    found = (link("v", sure=True),)
    trail, asked = walk(
        splap(cite("view"), link("b"), link("x")), {"view": PAGE, "b": FUT}, {"view": found}
    )
    assert asked == ["view", "v", "b"]
    assert [c.ask.url for c in trail.captures] == [FUTLI.url, f"{SITE}/b"]
    assert trail.captures[1].ask.origin.html_url == FUTLI.url


def test_only_one_viewer_and_no_viewer_of_a_viewer() -> None:
    pages = dict.fromkeys(("v", "w", "deep", "deeper"), PAGE)
    viewers = {
        "v": (link("deep", sure=True),),
        "w": (link("never", sure=True),),
        "deep": (link("deeper", sure=True),),
    }
    trail, asked = walk(splap(link("v", sure=True), link("w", sure=True)), pages, viewers)
    assert asked == ["v", "deep", "w"]
    assert trail.outcome == "splap-only"


def test_a_viewer_that_names_what_was_asked_does_not_loop() -> None:
    back = (link("abs/1", sure=True), link("view", sure=True), link("a", sure=True), cite("a"))
    trail, asked = walk(
        splap(link("a", sure=True), link("view", sure=True)), {"view": PAGE}, {"view": back}
    )
    assert asked == ["a", "view"]
    assert trail.outcome == "splap-only"


def test_the_splap_once_more_is_no_viewer() -> None:
    trail, ask = splap(link("a", sure=True), link("view", sure=True)).next_ask()
    assert ask is not None
    again = capture(ask, PAGE, url=FUTLI.url)
    trail = trail.answered(again, page_of(link("n", sure=True)))
    assert trail.viewer is None
    trail, asked = walk(trail, {"view": PAGE, "v": FUT}, {"view": (link("v", sure=True),)})
    assert asked == ["view", "v"]
    assert trail.outcome is FUT


def test_the_same_bytes_at_another_address_are_no_viewer() -> None:
    trail = splap(link("a", sure=True))
    assert trail.splap is not None
    trail, ask = trail.next_ask()
    assert ask is not None
    page = replace(capture(ask, PAGE), payload=trail.splap.payload)
    assert trail.answered(page, page_of(link("n", sure=True))).viewer is None


@pytest.mark.parametrize(
    ("candidate", "links", "most"),
    [
        (cite("c"), "ranked", VIEWER_MAX),
        (cite("c"), "first", VIEWER_MAX),
        (link("a", sure=True), "ranked", VIEWER_MAX),
        (link("a"), "ranked", MISS_MAX),
        (link("a", sure=True, label="supplement"), "ranked", MISS_MAX),
        (cite("c"), "all", MISS_MAX),
    ],
)
def test_how_much_of_a_miss_is_read(candidate: Candidate, links: str, most: int) -> None:
    _, ask = splap(candidate, links=Links(links)).next_ask()
    assert ask is not None
    assert ask.miss_max == most <= 64 * 1024


def test_a_label_goes_with_the_ask() -> None:
    _, ask = splap(link("s", label="supplement")).next_ask()
    assert ask is not None
    assert ask.origin.label == "supplement"


# Verdicts ----------------------------------------------------------------------------------


def test_a_bot_challenge_is_told_and_not_stored() -> None:
    trail = splap(link("a"), verdict="bot-challenge")
    assert (trail.outcome, trail.captures) == (Outcome.BOT_CHALLENGE, ())
    assert trail.error


def test_a_login_is_stored_and_its_links_are_asked_for() -> None:
    trail, asked = walk(splap(link("a"), verdict="login"), {})
    assert asked == ["a"]
    assert (trail.outcome, len(trail.captures)) == (Outcome.LOGIN, 1)
    assert "login" in trail.error
    trail, _ = walk(splap(link("a"), verdict="login"), {"a": FUT})
    assert (trail.outcome, trail.error) == (FUT, "")


@pytest.mark.parametrize("verdict", [Outcome.LOGIN, Outcome.BOT_CHALLENGE])
@pytest.mark.parametrize(
    ("candidate", "named"),
    [(cite("c"), True), (link("a", sure=True), True), (link("a"), False)],
)
def test_a_login_where_a_fut_was_promised_names_the_end(
    verdict: Outcome, candidate: Candidate, named: bool
) -> None:
    trail, ask = splap(candidate, link("z")).next_ask()
    assert ask is not None
    trail = trail.answered(capture(ask, PAGE), page_of(link("n", sure=True), verdict=verdict))
    assert trail.viewer is None
    assert trail.tried[0].outcome == verdict
    ended, asked = walk(trail, {})
    assert asked == ["z"]
    assert ended.outcome is (verdict if named else PAGE)
    assert bool(ended.error) == named
    assert len(ended.captures) == 1
    ended, _ = walk(trail, {"z": FUT})
    assert (ended.outcome, ended.error) == (FUT, "")


@pytest.mark.parametrize("outcome", [Outcome.REFUSED, Outcome.SERVER_ERROR])
def test_a_bot_challenge_with_an_error_status_is_one(outcome: Outcome) -> None:
    trail, ask = Trail.begin(FUTLI, 7).next_ask()
    assert ask is not None
    trail = trail.answered(capture(ask, outcome), page_of(verdict=Outcome.BOT_CHALLENGE))
    assert (trail.outcome, trail.captures) == (Outcome.BOT_CHALLENGE, ())
    trail = Trail.begin(FUTLI, 7).answered(capture(ask, outcome), page_of(verdict=Outcome.LOGIN))
    assert trail.outcome is outcome


# What one answer is to the walk ------------------------------------------------------------


def test_a_pdf_without_an_end_is_kept() -> None:
    payload = replace(answer(b"pdf"), ended=False)
    ask = Ask(futli=FUTLI, number=0, url=FUTLI.url)
    exchanges = (LoggedExchange(url=FUTLI.url, time=TIME),)
    half = Capture(
        ask=ask, url=FUTLI.url, time=TIME, outcome=Outcome.TRUNCATED, payload=payload,
        exchanges=exchanges,
    )  # fmt: skip
    assert half.is_kept
    assert not half.is_pdf
    cut = replace(half, exchanges=(replace(exchanges[0], truncated="disconnect"),))
    assert not cut.is_kept
    assert not replace(half, payload=replace(payload, whole=False)).is_kept


def test_only_what_goes_into_a_paper_warc_is_stored() -> None:
    assert {o for o in Outcome if o.is_stored} == {FUT, PAGE, Outcome.OTHER_TYPE}


# Whatever comes ----------------------------------------------------------------------------

NAMES = st.sampled_from([f"n{i}" for i in range(8)])
CANDIDATES = st.lists(
    st.builds(
        link,
        NAMES,
        sure=st.booleans(),
        label=st.sampled_from(["fut", "supplement", "other"]),
        by=st.sampled_from(["anchor", CITATION_PDF_URL]),
    ),
    max_size=10,
).map(tuple)
ANSWERS = st.tuples(
    st.sampled_from([FUT, PAGE, PAGE, *Outcome]),
    st.one_of(st.just(""), NAMES),
    CANDIDATES,
    st.sampled_from([PAGE, PAGE, Outcome.LOGIN, Outcome.BOT_CHALLENGE]),
)


@given(st.data(), st.sampled_from([*Links]), st.integers(1, 6))
def test_any_answers_end_the_trail(data: st.DataObject, links: Links, most: int) -> None:
    trail = Trail.begin(FUTLI, 1, Policy(links=links, links_max=most))
    asked: list[str] = []
    while True:
        trail, ask = trail.next_ask()
        assert pickle.loads(pickle.dumps(trail)) == trail
        if ask is None:
            break
        assert trail.outcome is None
        assert ask.url not in asked
        asked.append(ask.url)
        assert len(asked) <= 1 + most
        outcome, moved, candidates, verdict = data.draw(ANSWERS)
        url = f"{SITE}/{moved}" if moved else ""
        trail = trail.answered(
            capture(ask, outcome, url=url), page_of(*candidates, verdict=verdict)
        )
    assert trail.outcome is not None
    assert trail.next_ask() == (trail, None)
    futs = [c for c in trail.captures if c.is_pdf and not c.ask.origin.label]
    assert (trail.outcome is FUT) == bool(futs)
    assert trail.requests == len(asked)
    assert len(trail.tried) <= most
    assert all(c.outcome.is_stored for c in trail.captures)
    assert len({*map(id, trail.captures)}) == len(trail.captures)


@pytest.mark.parametrize("order", [*permutations("abc")])
def test_best_first_whatever_the_page_order(order: tuple[str, ...]) -> None:
    _, asked = walk(splap(*map(link, order)), {})
    assert asked == [*order]
