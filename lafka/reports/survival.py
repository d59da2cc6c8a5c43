"""The survival of links: Kaplan and Meier's estimate (J. Am. Stat. Assoc. 53, 1958), pure.

A link that was not asked since is censored: it counts among those at risk as long as it was known
to live, and is never called alive or dead after.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """At an age of ``days``: how many were known to live until then, and were lost then.

    ``share``: of all links, that is estimated to live longer.
    """

    days: int
    at_risk: int
    lost: int
    share: float


def curve(lives: Iterable[tuple[int, bool, int]]) -> list[Step]:
    """The steps of the curve, at each age at which links were lost, youngest first.

    *lives*: days lived, whether it was lost then, and of how many links that is so. What was
    censored at an age was still at risk at that age.
    """
    lost: dict[int, int] = defaultdict(int)
    ended: dict[int, int] = defaultdict(int)
    for days, is_lost, count in lives:
        ended[max(0, days)] += count
        lost[max(0, days)] += count * is_lost
    at_risk, share, steps = sum(ended.values()), 1.0, []
    for days in sorted(ended):
        if lost[days]:
            share *= 1 - lost[days] / at_risk
            steps.append(Step(days=days, at_risk=at_risk, lost=lost[days], share=share))
        at_risk -= ended[days]
    return steps
