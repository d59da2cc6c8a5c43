"""Lines of pipes and files."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.jobs.lines import Splitter, ahead, batches, short_turns
from tests.waiting import LIMIT

TEXTS = st.binary(max_size=60).map(lambda data: data.replace(b"x", b"\n"))


@given(TEXTS, st.lists(st.integers(0, 60), max_size=6))
def test_lines_are_the_same_in_whatever_pieces_they_come(data: bytes, cuts: list[int]) -> None:
    splitter = Splitter(100)
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    found = [line for a, b in pairwise(places) for line in splitter.lines(data[a:b])]
    found.append(splitter.last())
    assert found == [line.removesuffix(b"\r") for line in data.split(b"\n")]


def test_a_line_that_is_too_long_is_cut_and_the_next_one_is_whole() -> None:
    splitter = Splitter(5)
    assert [
        *splitter.lines(b"1234"),
        *splitter.lines(b"5678901234"),
        *splitter.lines(b"\nnext\n"),
    ] == [
        b"123456",
        b"next",
    ]


def test_batches_number_lines_and_leave_empty_ones_out(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"one\n\n \nfour\r\nfive\nsix")
    fd = os.open(tmp_path / "x", os.O_RDONLY)
    try:
        assert list(batches(fd, 2, 1.0, 100)) == [
            [(1, b"one"), (4, b"four")],
            [(5, b"five"), (6, b"six")],
        ]
    finally:
        os.close(fd)


def test_a_pipe_that_rests_gives_what_came() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"one\ntwo")
    found = batches(reading, 500, 0.01, 100)
    assert next(found) == [(1, b"one")]
    os.write(writing, b"\n")
    assert next(found) == [(2, b"two")]
    os.close(writing)
    assert list(found) == []
    os.close(reading)


def test_the_next_item_is_made_while_one_is_in_use() -> None:
    made = [threading.Event() for _ in range(4)]

    def items() -> Iterator[int]:
        for number, event in enumerate(made):
            event.set()
            yield number

    seen = []
    for number in ahead(items()):
        if number + 1 < len(made):
            assert made[number + 1].wait(LIMIT)
        assert not any(event.is_set() for event in made[number + 2 :])
        seen.append(number)
    assert seen == [0, 1, 2, 3]


def test_what_making_raises_comes_behind_what_was_made() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise LookupError("gone")

    found = ahead(items())
    assert next(found) == 1
    with pytest.raises(LookupError, match="gone"):
        next(found)


def test_nothing_is_made_for_nobody() -> None:
    made = []

    def items() -> Iterator[int]:
        for number in range(100):
            made.append(number)
            yield number

    found = ahead(items())
    assert next(found) == 0
    found.close()  # type: ignore[attr-defined]
    assert len(made) <= 3


def test_turns_are_short_as_long_as_they_are_wanted() -> None:
    before = sys.getswitchinterval()
    with short_turns():
        assert sys.getswitchinterval() < before
    assert sys.getswitchinterval() == before
