"""Which tests a run has: the short suite of ``make test``, all of ``make test-all``, or the rest.

The short suite has every behaviour, and of forms that only differ by a parameter a few. Those are
drawn by a hash of the commit: the same in a checkout, others after the next commit; those of
another one by ``--draw COMMIT``. What is asked
for alone, as ``tests/test_x.py::test_y[form]``, is not drawn from. Of the forms that take longest
``make test-all`` has some, too; those that it leaves out are the suite of ``make test-rare``.
"""

from __future__ import annotations

import hashlib
import random
import subprocess
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, settings

from tests.starts import ROOT

T = TypeVar("T")
SHORT, ALL, BEYOND, RARE = SUITES = ("short", "all", "beyond", "rare")
DRAWN = 20
"""Forms of each kind in the short suite; fewer where each form is a crawl of its own."""
EXAMPLES = {SHORT: 25, ALL: 200, BEYOND: 200, RARE: 200}
"""What hypothesis tries of a property."""
SERVERS = {
    "broker": "Kafka", "kafka": "Kafka", "ingest": "Kafka", "postgres": "PostgreSQL",
    "mongod": "MongoDB", "browser": "Chromium", "chromium": "Chromium",
}  # fmt: skip
"""The servers that tests with these fixtures need."""
_suite = SHORT
_draw = ""


def choose(suite: str, draw: str) -> None:
    """Have *suite* from here on, with the forms of *draw*; its profile of hypothesis is loaded."""
    global _suite, _draw
    _suite, _draw = suite, draw
    # No deadlines, as machines are busy.
    slow = [HealthCheck.too_slow]
    settings.register_profile(
        suite, deadline=None, max_examples=EXAMPLES[suite], suppress_health_check=slow
    )
    settings.load_profile(suite)


def commit() -> str:
    """The commit of this checkout; empty where there is none."""
    git = ["git", "-C", ROOT, "rev-parse", "HEAD"]
    try:
        done = subprocess.run(git, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip()


def few(
    kind: str,
    forms: Iterable[T],
    count: int = DRAWN,
    most: int | None = None,
    *,
    name: Callable[[T], str] = str,
) -> list[T]:
    """Draw *count* of the forms, as they are ordered; *most* in the long suites, all in the rare
    one. *name* tells one from another.
    """
    given = list(forms)
    wanted = {SHORT: count, RARE: None}.get(_suite, most)
    if wanted is None or len(given) <= wanted:
        return given
    places = sorted(range(len(given)), key=lambda place: _lot(kind, name(given[place])))
    return [given[place] for place in sorted(places[:wanted])]


def amount(short: int, long: int) -> int:
    """How many forms of a kind are made where they come of chance."""
    return short if _suite == SHORT else long


def _lot(kind: str, form: str) -> bytes:
    return hashlib.sha256(f"{_draw} {kind} {form}".encode()).digest()


def chosen(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """What the suite has of *items*, in their order."""
    for item in items:
        names = {SERVERS[name] for name in getattr(item, "fixturenames", ()) if name in SERVERS}
        for name in sorted(names):
            item.add_marker(pytest.mark.server(name))
    whole = _drawn([item for item in items if not item.get_closest_marker("rare")], "most")
    if _suite == ALL:
        return [item for item in items if item in whole]
    if _suite == RARE:
        return [item for item in items if item not in whole or item.get_closest_marker("draws")]
    short = _short(items)
    if _suite == SHORT:
        return [item for item in items if item in short]
    return [item for item in items if item in whole and (item not in short or _is_property(item))]


def _short(items: Sequence[pytest.Item]) -> set[pytest.Item]:
    others = ("long", "rare", "server")
    return _drawn([item for item in items if not any(map(item.get_closest_marker, others))])


def _drawn(items: Sequence[pytest.Item], count: str = "count") -> set[pytest.Item]:
    """*items* without those forms that are beyond what their mark has for *count*."""
    kinds: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("forms"):
            kinds.setdefault(item.nodeid.partition("[")[0], []).append(item)
    out: set[pytest.Item] = set()
    for kind, forms in kinds.items():
        mark = forms[0].get_closest_marker("forms")
        assert mark
        by_lot = sorted(forms, key=lambda item: _lot(kind, item.nodeid))
        most = mark.kwargs.get(count, DRAWN if count == "count" else len(forms))
        out.update(by_lot[most:])
    return set(items) - out


def _is_property(item: pytest.Item) -> bool:
    """Whether it tries more in a longer suite: examples of hypothesis, forms that it draws."""
    if item.get_closest_marker("draws"):
        return True
    return bool(getattr(getattr(item, "obj", None), "is_hypothesis_test", False))


def ordered(items: Sequence[pytest.Item], seed: int | None) -> list[pytest.Item]:
    """Files with what is slow first, so that no worker ends long after the others; or by chance.

    By *seed*, files are shuffled and the tests in each: its fixtures are made once all the same.
    """
    files = [(path, list(own)) for path, own in groupby(items, key=lambda item: item.path)]
    if seed is None:
        files.sort(key=lambda file: -sum(map(_is_slow, file[1])))
    else:
        chance = random.Random(seed)
        chance.shuffle(files)
        for _, own in files:
            chance.shuffle(own)
    return [item for _, own in files for item in own]


def _is_slow(item: pytest.Item) -> bool:
    return any(map(item.get_closest_marker, ("slow", "long", "rare", "server")))
