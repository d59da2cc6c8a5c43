"""Each test is in the suites that its marks say, and of forms some are drawn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests import suites


class Item:
    """A test as the suites see it."""

    def __init__(self, nodeid: str, **marks: dict[str, Any]) -> None:
        self.nodeid = nodeid
        self._marks = {name: getattr(pytest.mark, name)(**how).mark for name, how in marks.items()}

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return self._marks.get(name)


FORMS = [Item(f"f[{n}]", forms={"count": 2, "most": 5}) for n in range(9)]
WIDE = [Item(f"w[{n}]", forms={}) for n in range(25)]
ITEMS = [
    Item("plain"), Item("long", long={}), Item("rare", rare={}), Item("server", server={}),
    Item("draws", draws={}), *FORMS, *WIDE,
]  # fmt: skip


@pytest.fixture(autouse=True)
def _the_suite_stays() -> Iterator[None]:
    before = suites._suite
    yield
    suites._suite = before


def names(suite: str) -> list[str]:
    suites._suite = suite
    return [item.nodeid for item in suites.chosen(ITEMS)]  # type: ignore[arg-type, attr-defined]


def test_each_test_is_in_the_suites_that_its_marks_say() -> None:
    short, every, beyond, rare = map(names, suites.SUITES)
    alone = ("plain", "long", "rare", "server", "draws")
    assert [name for name in short if name in alone] == ["plain", "draws"]
    assert [name for name in every if name in alone] == ["plain", "long", "server", "draws"]
    assert [name for name in beyond if name in alone] == ["long", "server", "draws"]
    assert [name for name in rare if name in alone] == ["rare", "draws"]
    assert {*short, *beyond} == {*every}
    assert {*every, *rare} == {item.nodeid for item in ITEMS}
    assert ({*every} & {*rare}) | ({*short} & {*beyond}) == {"draws"}


def test_forms_are_drawn_as_many_as_their_mark_has() -> None:
    short, every, _, rare = map(names, suites.SUITES)
    assert [sum(name.startswith("f[") for name in suite) for suite in (short, every, rare)] == [
        2, 5, 4,
    ]  # fmt: skip
    assert [sum(name.startswith("w[") for name in suite) for suite in (short, every, rare)] == [
        suites.DRAWN, 25, 0,
    ]  # fmt: skip


def test_what_a_test_draws_by_itself_grows_with_the_suite() -> None:
    drawn = []
    for suite in (suites.SHORT, suites.ALL, suites.RARE):
        suites._suite = suite
        drawn.append(suites.few("kind", range(100), 10, most=40))
    assert [len(some) for some in drawn] == [10, 40, 100]
    assert {*drawn[0]} < {*drawn[1]} < {*drawn[2]}
    assert all(some == sorted(some) for some in drawn)
    suites._suite = suites.BEYOND
    assert suites.few("kind", range(100), 10) == [*range(100)]
