"""300 links whose lives are known: a report until any date tells them, and its plots draw them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from lafka.index.rows import STATES
from lafka.reports import plots
from lafka.reports.rendering import as_json
from lafka.reports.report import report
from lafka.reports.tables import PlotKind, Table, TableReport
from tests.index.histories import History, at, line
from tests.suites import few

COUNT = 300
BEGUN = 180
"""Links begin on the days before this."""
LIVES: tuple[tuple[tuple[int, str, str], ...], ...] = (
    ((0, "fut", "held"), (30, "fut", "held")),
    ((0, "fut", "held"), (10, "not-found", "suspect"), (20, "gone", "lost")),
    ((0, "fut", "held"), (5, "dns", "suspect"), (15, "dns", "lost"), (50, "fut", "back"),
     (70, "fut", "held")),
    ((0, "fut", "held"), (15, "splap-only", "was-fut-now-page")),
    ((0, "fut", "held"), (3, "timeout", "suspect"), (20, "timeout", "suspect"),
     (40, "timeout", "lost")),
    ((0, "not-found", "never"), (40, "login", "never")),
)  # fmt: skip
"""Days after a link's first, how the ask ended, and the state of the link from then on."""
DATES = few("dates of known lives", [at(day)[:10] for day in range(19, 240, 23)], 3)

Known = list[tuple[int, str, str]]
"""The asks of a link: day of the year, outcome, state."""


def known(number: int) -> Known:
    first = number * 7 % BEGUN
    return [(first + day, outcome, state) for day, outcome, state in LIVES[number % len(LIVES)]]


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    made = History(tmp_path_factory.mktemp("lives") / "archive", batch=1000)
    lines = []
    for number in range(COUNT):
        asks = known(number)
        if futs := [day + 0.49 for day, outcome, _ in asks if outcome == "fut"]:
            made.suwaf(number, {0: futs})
        lines += [(day, line(number, day + 0.5, outcome, new=outcome == "fut"))
                  for day, outcome, _ in asks]  # fmt: skip
    made.feed(1, *(one for _, one in sorted(lines, key=lambda one: one[0])))
    made.index()
    return made


@pytest.fixture(scope="module", params=DATES)
def told(history: History, request: pytest.FixtureRequest) -> Iterator[tuple[TableReport, Any]]:
    """The report until a date, and of each link what was known of it by then."""
    lives = {}
    for number in range(COUNT):
        asks = [ask for ask in known(number) if at(ask[0])[:10] <= request.param]
        if asks:
            lives[number] = asks
    with closing(history.open()) as db:
        yield report(db, until=request.param), lives


def once_had(lives: dict[int, Known]) -> dict[int, Known]:
    return {number: asks for number, asks in lives.items() if asks[0][1] == "fut"}


def test_figures_are_those_of_the_date(told: tuple[TableReport, dict[int, Known]]) -> None:
    whole, lives = told
    found = json.loads(as_json(whole))
    states = Counter(asks[-1][2] for asks in lives.values())
    had = once_had(lives)
    summary = {"papers": len(lives), "papers_with_fut": len(had), "futlis": len(lives),
               "futlis_once_had": len(had), "futlis_lost": states["lost"]}  # fmt: skip
    assert {name: found["summary"][name] for name in summary} == summary
    for row in found["rot_by_host"]:
        which = int(row["host"].removeprefix("host").removesuffix(".example"))
        mine = [asks for number, asks in lives.items() if number % 3 == which]
        assert {state: row[state.replace("-", "_")] for state in STATES} == {
            state: sum(asks[-1][2] == state for asks in mine) for state in STATES
        }
    assert sum(row["futlis"] for row in found["rot_by_host"]) == len(lives)
    outcomes = {row["outcome"]: row["futlis"] for row in found["outcomes"]}
    assert outcomes == Counter(asks[-1][1] for asks in lives.values())
    assert found["survival"][0]["at_risk"] == len(had)
    assert sum(row["lost"] for row in found["survival"]) == states["lost"]


def events(lives: dict[int, Known]) -> Iterator[tuple[str, str]]:
    """Yield month and kind of all that happened: a loss is of the first ask that failed."""
    for asks in lives.values():
        failed = before = ""
        for day, outcome, state in asks:
            if outcome == "fut":
                failed = ""
                yield at(day)[:7], "changed" if before else "new"
            else:
                failed = failed or at(day)[:7]
            if state != before and state in ("lost", "back"):
                yield failed or at(day)[:7], state
            before = state


def test_events_are_told_by_month_with_zeros(told: tuple[TableReport, dict[int, Known]]) -> None:
    whole, lives = told
    counts = Counter(events(lives))
    rows = json.loads(as_json(whole))["flow"]
    assert {(row["month"], kind): row[kind] for row in rows
            for kind in ("new", "changed", "lost", "back") if row[kind]} == counts  # fmt: skip
    months = [row["month"] for row in rows]
    assert months == sorted(months, reverse=True)
    first, last = (int(month[:4]) * 12 + int(month[5:]) for month in (months[-1], months[0]))
    assert len(months) == last - first + 1


# ---- Plots, read back

_BAR = re.compile(r"M([\d.]+),([\d.]+)h([\d.]+)v([\d.]+)h-?")
_POINT = re.compile(r"translate\(([\d.]+),([\d.]+)\)")
HIGH = 240
TIMES = ("day", "month", "year")

Mark = tuple[frozenset[str], float, float]
"""What a mark says of itself, its place along the axis of what is counted by, and its size."""


def marks(drawn: str, *, is_upright: bool) -> Iterator[Mark]:
    """Read the bars and points of a plot back."""
    for one in ET.fromstring(drawn).iter():
        kind = one.get("aria-roledescription")
        said = frozenset(part.split(": ", 1)[1] for part in one.get("aria-label", "").split("; ")
                         if ": " in part)  # fmt: skip
        if kind == "bar":
            bar = _BAR.match(one.get("d", ""))
            assert bar, one.attrib
            x, y, wide, high = map(float, bar.groups())
            yield (said, x, high) if is_upright else (said, y, wide)
        elif kind == "point":
            point = _POINT.match(one.get("transform", ""))
            assert point, one.attrib
            yield said, float(point[1]), HIGH - float(point[2])


def expected(table: Table) -> dict[str, list[tuple[frozenset[str], float]]]:
    """What a plot of *table* has to say at each of its places, from left or top, and its values."""
    plot = table.plot
    assert plot
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows[: plots.MOST]]
    if plot.x in TIMES:
        rows.sort(key=lambda row: str(row[plot.x]))
    found: dict[str, list[tuple[frozenset[str], float]]] = {}
    for row in rows:
        for name in plot.y:
            value: Any = row[name] or 0
            said = {f"{value:g}" if isinstance(value, float) else str(value), str(row[plot.x])}
            if plot.color or len(plot.y) > 1:
                said.add(str(row[plot.color]) if plot.color else name.replace("_", " "))
            found.setdefault(str(row[plot.x]), []).append((frozenset(said), value))
    return found


@pytest.mark.forms(count=1)
def test_each_bar_and_point_is_what_the_table_has(told: tuple[TableReport, Any]) -> None:
    pytest.importorskip("altair")
    tables = [table for table in told[0].tables
              if table.plot and table.rows and table.plot.kind is not PlotKind.STEPS]  # fmt: skip
    assert len(tables) > 8
    for table in tables:
        assert table.plot
        drawn = list(marks(plots.svg(table), is_upright=table.plot.x in TIMES))
        wanted = expected(table)
        places = sorted({place for _, place, _ in drawn})
        assert len(places) == len(wanted), table.key
        sizes = []
        for place, parts in zip(places, wanted.values(), strict=True):
            here = {said: size for said, at_place, size in drawn if at_place == place}
            assert here.keys() == {said for said, _ in parts}, table.key
            sizes += [(here[said], value) for said, value in parts]
        most = max(sizes)
        for size, value in sizes:
            assert size * most[1] == pytest.approx(value * most[0], abs=0.01 * most[1]), table.key


def test_the_curve_is_what_its_table_has(told: tuple[TableReport, Any]) -> None:
    pytest.importorskip("altair")
    [table] = [one for one in told[0].tables if one.plot and one.plot.kind is PlotKind.STEPS]
    [line_drawn] = [one.get("d", "") for one in ET.fromstring(plots.svg(table)).iter()
                    if one.get("aria-roledescription") == "line mark"]  # fmt: skip
    corners = [tuple(map(float, corner.split(","))) for corner in line_drawn[1:].split("L")]
    days, shares = ([float(str(row[table.columns.index(name)])) for row in table.rows]
                    for name in ("days", "share"))  # fmt: skip
    steps = [(x, 1 - y / HIGH) for x, y in corners]
    ends = dict(steps)  # of the corners at one day the last, which is where the curve goes on
    assert [share for _, share in sorted(ends.items())] == pytest.approx(shares, abs=1e-4)
    scale = max(ends) / max(days)
    assert sorted(ends) == pytest.approx([day * scale for day in days], abs=0.01)
    assert sorted(steps, key=lambda step: step[0]) == steps
