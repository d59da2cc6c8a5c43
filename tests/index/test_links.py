"""The life of a futli, by cases and by what holds for every history."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.index.rows import (
    NO_ASK,
    NOT_THERE,
    STATES,
    AskRun,
    FeedLine,
    Life,
    folded,
    life,
    values_in,
)
from lafka.papers import Group, Outcome
from tests.index.histories import at, run_of


def lived(*told: tuple[float, str], futs: tuple[float, ...] = ()) -> Life:
    """The life of a futli whose asks ended so, by day; *futs* as suwafs have them."""
    rows = folded([(run_of(0), FeedLine(pid="p", futli="f", outcome=word, time=at(day), requests=1))
                   for day, word in told])  # fmt: skip
    asks = [AskRun(time=row.time, until=row.until, outcome=row.outcome, times=row.times)
            for row in rows]  # fmt: skip
    return life(asks, [at(day) for day in futs])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
TEXTS = st.builds(
    lambda value, plain, mark: mark + json.dumps(value, ensure_ascii=plain).encode("utf-8", PASS),
    JSON | st.dictionaries(st.text(st.characters(codec=None), max_size=3), st.integers()),
    st.booleans(),
    st.sampled_from([b"", b"\xef\xbb\xbf", b" ", b"1"]),
)
PASS = "surrogatepass"


@given(TEXTS | st.binary(max_size=40) | st.sampled_from([b'{"a":1e999}', b'{"a":1,"a":2}', b"NaN"]))
def test_a_line_is_read_as_json_reads_it(data: bytes) -> None:
    def read(how: Any) -> str:
        try:
            return repr(how(data))
        except ValueError:
            return "none"

    assert read(values_in) == read(json.loads)


@pytest.mark.parametrize(
    ("told", "state", "word"),
    [
        ([], "never", None),
        ([(0, "not-found"), (9, "not-found"), (40, "gone")], "never", None),
        ([(0, "fut")], "held", None),
        ([(0, "fut"), (1, "not-found")], "suspect", None),
        ([(0, "fut"), (1, "not-found"), (7.9, "gone")], "suspect", None),
        ([(0, "fut"), (1, "not-found"), (8, "gone")], "lost", "gone"),
        ([(0, "fut"), (1, "timeout"), (2, "dns"), (8, "dns")], "lost", "dns"),
        ([(0, "fut"), (1, "dns"), (2, "dns"), (8, "timeout")], "lost", "dns"),
        ([(0, "fut"), (1, "not-found"), (20, "timeout")], "suspect", None),
        ([(0, "fut"), (1, "timeout"), (25, "timeout"), (30.9, "timeout")], "suspect", None),
        ([(0, "fut"), (1, "timeout"), (25, "timeout"), (31, "timeout")], "lost", "timeout"),
        ([(0, "fut"), (1, "robots"), (90, "robots")], "suspect", None),
        ([(0, "fut"), (1, "robots"), (2, "login"), (31, "robots")], "lost", "robots"),
        ([(0, "fut"), (1, "splap-only")], "was-fut-now-page", None),
        ([(0, "fut"), (1, "splap-only"), (2, "timeout")], "suspect", None),
        ([(0, "fut"), (1, "splap-only"), (2, "splap-only"), (31, "splap-only")], "lost",
         "splap-only"),
        ([(0, "fut"), (1, "not-found"), (8, "gone"), (9, "fut")], "back", None),
        ([(0, "fut"), (1, "not-found"), (8, "gone"), (9, "fut"), (10, "fut")], "held", None),
        ([(0, "fut"), (1, "not-found"), (8, "gone"), (9, "fut"), (10, "gone")], "suspect", None),
        ([(0, "fut"), (1, "not-found"), (2, "fut"), (9, "not-found")], "suspect", None),
        ([(0, "fut"), (1, "excluded"), (20, "damaged"), (40, "restricted")], "held", None),
        ([(0, "fut"), (1, "bad-url"), (9, "bad-url")], "held", None),
    ],
)  # fmt: skip
def test_a_futli_lives(told: list[tuple[float, str]], state: str, word: str | None) -> None:
    found = lived(*told)
    assert (found.state, found.lost_by) == (state, word)
    assert (found.lost_since is None) == (state != "lost")


def test_nightly_asks_count_as_the_span_of_their_row() -> None:
    nights = [(float(day), "not-found") for day in range(1, 9)]
    assert lived((0, "fut"), *nights[:-1]).state == "suspect"
    found = lived((0, "fut"), *nights)
    assert (found.state, found.lost_since, found.fails) == ("lost", at(1), 8)
    assert (found.first_had, found.had, found.asked, found.asks) == (at(0), at(0), at(8), 9)


def test_a_fut_of_a_first_lafka_has_no_ask() -> None:
    found = lived(futs=(0, 3))
    assert (found.state, found.asks, found.asked, found.first_had, found.had) == (
        "held", 0, None, at(0), at(3)
    )  # fmt: skip


def test_what_the_archive_says_of_an_ask_is_no_ask_of_its_own() -> None:
    lost = ((0, "fut"), (1, "gone"), (9, "gone"))
    assert lived(*lost, futs=(0, 19.99)).state == "back"
    assert lived(*lost, (20, "fut"), futs=(0, 19.99)).state == "back"
    assert lived(*lost, (20, "fut"), (21, "fut"), futs=(0, 19.99)).state == "held"
    found = lived(*lost, (20, "fut"), (22, "timeout"), (23, "fut"), futs=(0, 19.99, 22.99))
    assert (found.state, found.back_since) == ("held", at(19.99))


def test_a_fut_within_a_row_of_failing_asks_begins_the_row_anew() -> None:
    nights = [(float(day), "not-found") for day in range(1, 12)]
    assert lived((0, "fut"), *nights, futs=(10.5,)).state == "suspect"


def test_the_words_that_say_not_there_are_the_group_of_that_name() -> None:
    assert set(Group.NOT_THERE.outcomes) == NOT_THERE
    assert set(Group.OURS.outcomes) >= NO_ASK - {Outcome.RESTRICTED, Outcome.DAMAGED}


words = st.sampled_from([str(outcome) for outcome in Outcome])
asks = st.lists(st.tuples(st.floats(0, 60).map(lambda day: round(day, 3)), words), max_size=12)


@given(asks, st.lists(st.floats(0, 60), max_size=3), st.randoms(), st.integers(0, 5))
def test_order_of_feeds_and_repetition_of_lines_change_nothing(
    told: list[tuple[float, str]], futs: list[float], random: object, again: int
) -> None:
    lines = [
        (run_of(number % 3), FeedLine(pid="p", futli="f", outcome=word, time=at(day), requests=1))
        for number, (day, word) in enumerate(told)
    ]
    known = {(line.time, run): line for run, line in lines}
    lines = [(run, line) for (_, run), line in known.items()]
    mixed = lines + lines[:again]
    random.shuffle(mixed)  # type: ignore[attr-defined]
    assert folded(mixed) == folded(lines)
    rows = folded(lines)
    asks = [AskRun(time=r.time, until=r.until, outcome=r.outcome, times=r.times) for r in rows]
    found = life(asks, [at(day) for day in futs])
    assert found.state in STATES
    assert (found.state == "never") == (found.had is None)
    assert (found.state == "lost") == (found.lost_since is not None) == (found.lost_by is not None)
    if found.state in ("held", "back"):
        assert found.fails == 0
    assert found.asks == sum(word not in NO_ASK for word in (line.outcome for _, line in lines))
    if found.lost_since:
        assert found.had is not None
        assert found.lost_since[:19] >= found.had[:19]


@given(st.lists(st.sampled_from(["timeout", "robots", "server-error"]), min_size=1, max_size=2))
def test_a_timeout_or_a_robots_txt_alone_never_makes_a_link_lost(told: list[str]) -> None:
    assert lived((0, "fut"), *((day * 400.0, word) for day, word in enumerate(told, 1))).state == (
        "suspect"
    )
