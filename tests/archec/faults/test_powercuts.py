"""Power cuts during runs of tobi, and tobi without each of its syncs: each has to be missed."""

from __future__ import annotations

import os
import random
import signal
import threading
from pathlib import Path

import pytest

from lafka.archec.checking import check_store
from tests.archec.faults import ordeals, powercuts
from tests.archec.faults.fobis import FobiOrdeal
from tests.archec.faults.ordeals import Ordeal
from tests.faults import mutants
from tests.faults.mutants import LOCKS
from tests.faults.storecalls import Site, Which

NAMED = Which(nth=2, kinds=("rename",), path=r"/\.draft-\d+$")
# A descriptor keeps the name that its file had: the first write is the head's.
IN_A_LINE = Which(nth=2, kinds=("write",), path=r"/journal/\.draft-tobi$")
IN_EVIDENCE = Which(nth=2, kinds=("pwrite", "write"), path=r"/evidence/")
PREPARED = {
    **{f"phase {n}": powercuts.of_phase(n) for n in range(Ordeal.phases)},
    "recovery": powercuts.of_kill(Ordeal, NAMED),
    "torn journal": powercuts.of_kill(Ordeal, IN_A_LINE, "half"),
    **{f"fobis {n}": powercuts.of_phase(n, FobiOrdeal) for n in range(FobiOrdeal.phases)},
    "fobis recovery": powercuts.of_kill(FobiOrdeal, NAMED, "after"),
    "torn evidence": powercuts.of_kill(FobiOrdeal, IN_EVIDENCE, "half"),
    "mending": powercuts.of_mending,
}
SITES = mutants.sites("archec")
_calls: dict[str, set[Site]] = {}


@pytest.mark.forms(count=2, most=8)
@pytest.mark.parametrize("name", PREPARED)
def test_a_power_cut_loses_nothing_that_a_journal_has(name):
    cut = powercuts.cut(PREPARED[name], random.Random(1), points=2, most=3)
    assert cut.troubles == []


def a_power_cut(name: str, mutant: Site) -> list[str]:
    """What power cuts do to a run without *mutant*."""
    found = powercuts.cut(PREPARED[name], random.Random(2), points=8, most=12, without=mutant)
    return found.troubles


def reached(name: str) -> set[Site]:
    if name not in _calls:
        _calls[name] = mutants.reached(powercuts.calls_of(PREPARED[name]), SITES)
    return _calls[name]


def a_living_run(mutant: Site | None, nth: Which) -> list[str]:
    """A run that stops in the middle: a second one is refused, its journal is known to live."""
    with ordeals.folder() as root:
        ordeal = Ordeal.begun(root, 1)
        first = Ordeal(root, runs=ordeal.runs)
        plan = first.plan(stop=nth, without=mutant)
        runs: list[ordeals.Run] = []
        thread = threading.Thread(target=lambda: runs.append(first.run(plan)))
        thread.start()
        process = _stopped()
        troubles = []
        ordeal.runs += 1
        log = root / "second"
        second = ordeals.in_child(ordeal.home.tobi, log, None)
        if second.code != 2 or "held by process" not in second.said:
            troubles.append(f"a second run was not refused: {second.code} {second.said}")
        found = [(one.code, one.severity) for one in check_store(ordeal.home.archive)]
        if ("open-journal", "error") in found:
            troubles.append("a living journal was taken for a dead one")
        os.kill(process, signal.SIGCONT)
        thread.join()
        return troubles


def _stopped() -> int:
    """The child of this process that has stopped itself."""
    found = os.waitid(os.P_ALL, 0, os.WSTOPPED | os.WNOWAIT)
    assert found
    return found.si_pid


JOURNALLED = Which(nth=1, kinds=("rename",), path=r"/\.draft-\d+$")
EXEMPT = {
    "checking/": "the checker keeps nothing: it looks whether a writer lives",
    "os.fsync(file.fileno())": "a probe is there to be refused; SQLite's bytes are written unseen",
    "put_in_place(draft, path)": "SQLite's bytes are written by calls that the model does not see",
    "lock_file(path, os.O_RDWR | os.O_APPEND, wait=False)": "a second line behind tobi.lock",
    "replace(root / MARKER": "its name is synced with those of the folders that are made beside it",
    "replace(path, [data])": "a step's sync, which scenarios of the main road miss",
    "replace(kept": "what was torn was never acknowledged; it is kept for whoever asks",
    "os.fsync(fd)": "of evidence that is cut: torn again, it is cut again",
    "os.fdatasync(fd)  # what the dead": "the next line of the journal syncs the same file",
    "fdatasync(self._fd)": "of a journal that is cut: the line behind it syncs the same file",
    "lock_file(folder, os.O_RDONLY | os.O_DIRECTORY)": "two makers write the same marker",
}
"""What no scenario can miss: a part of the place, or of the line."""


def exempt(mutant: Site) -> str:
    """Why no scenario misses it; empty where one has to."""
    place = mutant.by or mutant
    lines = Path(place.file).read_text("utf-8").splitlines()
    above, line = lines[place.first - 2 : place.first]
    told = [why for sign, why in EXEMPT.items() if sign in line or sign in place.file]
    if ("MARKER" in line and mutant.call == "fsync") or "write_all" in above:
        return ""  # the marker's bytes, the journal's lines
    return told[0] if told else ""


@pytest.mark.forms(count=1, most=6)
@pytest.mark.parametrize("mutant", SITES, ids=str)
def test_a_sync_or_lock_of_tobi_that_is_left_out_is_missed(mutant):
    if why := exempt(mutant):
        pytest.skip(why)
    if mutant.call in LOCKS:
        assert a_living_run(mutant, JOURNALLED)
        return
    tried = []
    for name in PREPARED:  # each is run to see what it reaches when its turn comes, and once
        if mutant in reached(name):
            tried.append(name)
            if a_power_cut(name, mutant):
                return
    pytest.fail(f"no power cut misses {mutant}; tried were {tried}")


def test_a_second_run_is_refused_and_a_living_journal_is_known():
    assert a_living_run(None, JOURNALLED) == []
