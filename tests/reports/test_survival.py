"""Kaplan and Meier's estimate against values worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.reports.rot import curve


def test_the_curve_is_what_is_worked_out_by_hand() -> None:
    # Ten links: lost after 1, 3, 3 and 7 days; known to live until 2, 3, 5, 8, 8 and 9 days.
    lives = [(1, True, 1), (2, False, 1), (3, True, 2), (3, False, 1), (5, False, 1), (7, True, 1),
             (8, False, 2), (9, False, 1)]  # fmt: skip
    steps = curve(lives)
    assert [(one.days, one.at_risk, one.lost) for one in steps] == [
        (1, 10, 1),
        (3, 8, 2),
        (7, 4, 1),
    ]
    # 9/10; times 6/8; times 3/4.
    assert [one.share for one in steps] == pytest.approx([0.9, 0.675, 0.50625])


def test_remission_times_of_freireich_1963() -> None:
    """The 6-MP arm of Freireich and others (Blood 21, 1963), in every textbook."""
    lost = {6: 3, 7: 1, 10: 1, 13: 1, 16: 1, 22: 1, 23: 1}
    censored = {6: 1, 9: 1, 10: 1, 11: 1, 17: 1, 19: 1, 20: 1, 25: 1, 32: 2, 34: 1, 35: 1}
    steps = curve([*((days, True, n) for days, n in lost.items()),
                   *((days, False, n) for days, n in censored.items())])  # fmt: skip
    assert [one.at_risk for one in steps] == [21, 17, 15, 12, 11, 7, 6]
    assert [round(one.share, 3) for one in steps] == [
        0.857, 0.807, 0.753, 0.690, 0.627, 0.538, 0.448,
    ]  # fmt: skip


lives = st.lists(st.tuples(st.integers(-1, 40), st.booleans(), st.integers(1, 5)), max_size=30)


@given(lives)
def test_a_curve_only_falls_and_counts_each_link_once(lives: list[tuple[int, bool, int]]) -> None:
    steps = curve(lives)
    shares = [one.share for one in steps]
    assert shares == sorted(shares, reverse=True)
    assert all(0 <= share < 1 for share in shares)
    assert sum(one.lost for one in steps) == sum(n for _, lost, n in lives if lost)


@given(lives)
def test_without_censoring_the_curve_is_the_share_that_lives(
    lives: list[tuple[int, bool, int]],
) -> None:
    every = [(days, True, count) for days, _, count in lives]
    whole = sum(count for _, _, count in every)
    for step in curve(every):
        longer = sum(count for days, _, count in every if max(0, days) > step.days)
        assert step.share == pytest.approx(longer / whole)
