"""Kills at calls of the store of filesets and items lose nothing."""

from __future__ import annotations

import os
import random
import signal
from functools import cache

from tests.faults.kills import HOWS, every_call
from tests.faults.storecalls import KINDS, Call, Which
from tests.filesets.archive import ordeals


@cache
def undisturbed() -> tuple[Call, ...]:
    with ordeals.folder() as root:
        done = ordeals.run(root)
        assert done.code == 0, done.said
        assert ordeals.finish(root) == []
        return tuple(call for call in done.calls if call.kind in KINDS)


def killed(whiches: list[tuple[Which, str]]) -> list[str]:
    """Kill at each of *whiches*, one root; then finish."""
    with ordeals.folder() as root:
        troubles, kills = [], 0
        for which, how in whiches:
            done = ordeals.run(root, kill=which, how=how)
            kills += done.code == -signal.SIGKILL
            acks = root / ordeals.ACKS
            known = acks.read_text().split() if acks.exists() else []
            troubles += [f"{how} {which}: {t}" for t in ordeals.moment(root, known)]
        troubles += [f"{whiches}: {t}" for t in ordeals.finish(root)]
        return troubles if kills else [*troubles, f"{whiches}: nothing was killed"]


def test_a_kill_at_calls_of_each_kind_loses_nothing() -> None:
    whiches, rng = every_call(undisturbed()), random.Random(5)
    kinds = sorted({which.kinds for which in whiches})
    chosen = [
        (rng.choice([w for w in whiches if w.kinds == kind]), rng.choice(HOWS)) for kind in kinds
    ]
    troubles = [trouble for each in chosen for trouble in killed([each])]
    assert troubles == []


def two_writers() -> int:
    """How many of two have one fileset at once."""
    with ordeals.folder() as root:
        child = os.fork()
        if not child:
            code = 70
            try:
                store = ordeals.Work(root)
                pair = [store.filesets.locked(ordeals.ID) for _ in range(2)]
                code = sum(one is not None for one in pair)
            finally:
                os._exit(code)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_two_writers_never_have_one_fileset() -> None:
    assert two_writers() == 1
