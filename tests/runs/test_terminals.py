"""The live line: below what is logged, never over it, no wider than the terminal."""

from __future__ import annotations

import io
import logging
from collections import Counter
from collections.abc import Iterator

import pytest

from lafka.runs.live import ProgressSnapshot, time_left
from lafka.runs.progress import ProgressGoal
from lafka.runs.terminals import ERASE, Terminal, fitting


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def screen(text: str) -> list[str]:
    """The lines that a terminal shows after *text*."""
    return [line.rpartition(ERASE)[2] for line in text.split("\n")]


@pytest.fixture
def logged() -> Iterator[tuple[Terminal, Tty, logging.Logger]]:
    stream = Tty()
    handler = logging.StreamHandler(stream)
    logging.root.addHandler(handler)
    terminal = Terminal.at(stream, {"TERM": "xterm"})
    assert terminal is not None
    terminal.attach()
    yield terminal, stream, logging.getLogger("lafka.tests")
    logging.root.removeHandler(handler)


def test_log_lines_stand_above_the_live_line(logged) -> None:
    terminal, stream, logger = logged
    terminal.show(["1 line"])
    logger.warning("one")
    logger.warning("two")
    terminal.show(["2 lines", "1 fut"])
    assert screen(stream.getvalue()) == ["one", "two", "2 lines | 1 fut"]


def test_the_line_is_gone_at_the_end_and_what_is_said_then_stays(logged) -> None:
    terminal, stream, logger = logged
    terminal.show(["1 line"])
    terminal.detach()
    logger.warning("after")
    terminal.say("the end")
    assert screen(stream.getvalue()) == ["after", "the end", ""]


def test_what_has_not_changed_is_not_written_again(logged) -> None:
    terminal, stream, _ = logged
    terminal.show(["1 line"])
    once = stream.getvalue()
    terminal.show(["1 line"])
    assert stream.getvalue() == once


def test_a_line_that_a_narrower_terminal_broke_is_erased_with_all_its_rows(
    logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal, stream, logger = logged
    terminal.show(["x" * 70])
    monkeypatch.setattr(terminal, "_columns", lambda: 30)
    begin = len(stream.getvalue())
    logger.warning("one")
    assert stream.getvalue()[begin:].startswith("\x1b[2A\r\x1b[Jone\n")
    terminal.show(["y" * 20])
    begin = len(stream.getvalue())
    terminal.show(["z" * 20])
    assert stream.getvalue()[begin:] == f"{ERASE}{'z' * 20}"


def test_parts_are_shown_whole_or_not_at_all() -> None:
    parts = ["0123456789", "abcdefghij", "x"]
    assert fitting(parts, 80) == "0123456789 | abcdefghij | x"
    assert fitting(parts, 23) == "0123456789"
    assert fitting(parts, 24) == "0123456789 | abcdefghij"
    assert fitting(parts, 5) == ""


@pytest.mark.parametrize(
    ("stream", "environ"),
    [
        (io.StringIO(), {"TERM": "xterm"}),
        (Tty(), {"TERM": "dumb"}),
        (Tty(), {}),
        (None, {"TERM": "xterm"}),
    ],
)
def test_there_is_none_where_no_line_can_be_erased(stream, environ) -> None:
    assert Terminal.at(stream, environ) is None


def test_a_terminal_that_is_gone_is_no_error(logged) -> None:
    terminal, stream, _ = logged
    stream.close()
    terminal.show(["1 line"])
    terminal.say("the end")


def test_a_moment_tells_what_matters_first() -> None:
    moment = ProgressSnapshot(
        done=1204, total=10_000, loaded=True, futs=800, groups={"held": 800, "closed": 404},
        size=12_345_678, busy=31, waiting=12, parked=2, rate=2.0,
    )  # fmt: skip
    assert [*moment.parts()] == [
        "1,204 of 10,000 lines",
        "800 futs",
        "1 h 13 min left",
        "120 papers/min",
        "held 800, closed 404",
        "hosts: 31 busy, 12 waiting, 2 parked",
        "12.3 MB",
    ]


def test_a_moment_of_another_crawl_names_what_that_is_after() -> None:
    aim = ProgressGoal("datasets", frozenset({"success"}), "datasets")
    moment = ProgressSnapshot(
        done=3, total=4, loaded=True, futs=aim.count(Counter(success=2, partial=1)), groups={},
        size=0, busy=0, waiting=0, parked=0, rate=1.0, aim=aim,
    )  # fmt: skip
    assert [*moment.parts()][1:4] == ["2 datasets", "1 s left", "60 datasets/min"]


def test_no_time_is_told_while_the_list_is_read_or_nothing_ends() -> None:
    moment = ProgressSnapshot(
        done=0, total=500, loaded=False, futs=0, groups={}, size=0, busy=0, waiting=0, parked=0,
        rate=0.0,
    )  # fmt: skip
    assert not any("left" in part for part in moment.parts())
    assert next(moment.parts()) == "0 of 500+ lines"


@pytest.mark.parametrize(("seconds", "text"), [(40, "40 s"), (300, "5 min"), (7500, "2 h 5 min")])
def test_the_time_left_is_as_coarse_as_it_is_sure(seconds: float, text: str) -> None:
    assert time_left(seconds) == text
