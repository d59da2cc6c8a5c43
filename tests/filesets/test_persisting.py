"""Results in batches: what is refused is isolated, what is away is waited for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.filesets.results import Persister, parse
from lafka.jobs.database import BadDatabase, DatabaseAway, RowRefused
from lafka.jobs.lines import Message, UnusableMessage

Rows = Sequence[Mapping[str, Any]]


def result(n: object, **more: Any) -> bytes:
    request = {"ingest_type": "dataset", "base_url": f"https://x.example/{n}"}
    return json.dumps({"hit": False, "status": "no-capture", "request": request, **more}).encode()


class Base:
    """A database of urls, which refuses some and is away for a while."""

    def __init__(self, refused: set[str] = frozenset(), away: int = 0) -> None:  # type: ignore[assignment]
        self.refused = refused
        self.away = away
        self.written: list[str] = []
        self.transactions = 0

    def write(self, batch: Rows) -> None:
        if self.away:
            self.away -= 1
            raise DatabaseAway("gone for lunch")
        urls = [row["base_url"] for tables in batch for row in tables["ingest_file_result"]]
        if self.refused.intersection(urls):
            raise RowRefused("a check")
        self.transactions += 1
        self.written += urls


class Bench:
    def __init__(self, base: Base) -> None:
        self.dead: list[UnusableMessage] = []
        self.waits: list[float] = []
        self.persister = Persister(
            database=base, dead=self.dead.append, wait=lambda seconds, _: self.waits.append(seconds)
        )


def messages(datas: Sequence[bytes]) -> list[Message]:
    return [Message(place=f"x:{n}", data=data) for n, data in enumerate(datas, 1)]


def test_a_batch_is_one_transaction() -> None:
    base = Base()
    bench = Bench(base)
    bench.persister.write(messages([result(n) for n in range(500)]))
    assert base.transactions == 1
    assert bench.persister.account.written == 500


@given(st.sets(st.integers(0, 29)))
def test_what_is_refused_is_isolated_and_the_rest_goes_in_in_its_order(bad: set[int]) -> None:
    base = Base(refused={f"https://x.example/{n}" for n in bad})
    bench = Bench(base)
    bench.persister.write(messages([result(n) for n in range(30)]))
    assert base.written == [f"https://x.example/{n}" for n in range(30) if n not in bad]
    assert [dead.message.place for dead in bench.dead] == [f"x:{n + 1}" for n in sorted(bad)]
    assert bench.persister.account.refused == len(bad)


NONE = {
    "not JSON": b"{",
    "a result is an object with a request": b"[]",
    "hit is no boolean": result(1, hit="yes"),
    "unknown status": result(1, status="fine"),
    "its request has no base_url": b'{"hit": false, "status": "bad-request", "request": {}}',
    "a result of over": b" " * ((32 << 20) + 1),
}


@pytest.mark.parametrize("why", NONE)
def test_what_is_no_result_is_a_dead_letter(why: str) -> None:
    base = Base()
    bench = Bench(base)
    data = NONE[why]
    bench.persister.write(messages([result("a"), data, result("b")]))
    assert base.written == ["https://x.example/a", "https://x.example/b"]
    (dead,) = bench.dead
    assert dead.message.data == data
    assert dead.reason.startswith(why) or "no ingest_type" in dead.reason


def test_a_database_that_is_away_is_waited_for_longer_and_longer() -> None:
    base = Base(away=8)
    bench = Bench(base)
    bench.persister.write(messages([result("a")]))
    assert bench.waits == [1, 2, 4, 8, 16, 32, 60, 60]
    assert base.written == ["https://x.example/a"]


def test_who_waits_may_give_up_and_nothing_is_counted() -> None:
    class Enough(Exception):
        pass

    def give_up(seconds: float, sentence: str) -> None:
        raise Enough

    persister = Persister(database=Base(away=1), dead=print, wait=give_up)
    with pytest.raises(Enough):
        persister.write(messages([result("a")]))
    assert persister.account.written == 0


def test_a_database_that_cannot_be_used_ends_it() -> None:
    class Broken(Base):
        def write(self, batch: Rows) -> None:
            raise BadDatabase("its tables are missing")

    with pytest.raises(BadDatabase):
        Bench(Broken()).persister.write(messages([result("a")]))


@given(st.binary(max_size=200) | st.recursive(
    st.none() | st.booleans() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["hit", "status", "request", "ingest_type", "base_url", "manifest"]), inner
    ),
).map(lambda value: json.dumps(value).encode()))  # fmt: skip
def test_whatever_comes_is_a_result_or_a_reason(data: bytes) -> None:
    with suppress(ValueError):
        assert isinstance(parse(data)["request"], dict)
