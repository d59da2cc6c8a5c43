"""Archives merged paper by paper: partitions, two crawls, damage, kills, live sources."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import shutil
import signal
from collections.abc import Iterable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lafka.papers.archive.archives import Archive
from lafka.papers.archive.merging import (
    LEFT,
    MORE,
    NEW,
    SAME,
    MergedPaper,
    forecast_papers,
    merge_papers,
)
from lafka.storage.locks import held
from tests import suites
from tests.faults.forks import in_child
from tests.faults.storecalls import KINDS as KINDS_OF_CALLS
from tests.faults.storecalls import Plan, Which
from tests.stores import (
    FUTLI,
    KINDS,
    PID,
    START,
    Store,
    cuts,
    files,
    page,
    pdf,
    problems,
    quick_folder,
)

OTHER = "http://x.example/abs/other"
DAY = timedelta(days=1)


def merge(source: Path, target: Path) -> list[MergedPaper]:
    archive = Archive(source)
    return [*merge_papers(archive, Archive.create(target), archive.warcs())]


def results(merged: Iterable[MergedPaper]) -> list[str]:
    return [paper.result for paper in merged]


def stored(root: Path) -> dict[str, bytes]:
    """Paper WARCs and suwafs, by their names."""
    found = files(root)
    return {name: data for name, data in found.items() if name.startswith(("warc/", "suwaf/"))}


def visits(root: Path, pid: str = PID) -> dict[tuple[str, str], str]:
    """Futli and time -> digest of what ``s`` and ``l`` cut out."""
    return {key: hashlib.sha256(data).hexdigest() for key, data in cuts(Archive(root), pid).items()}


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """An archive of papers of every kind, some asked twice, some with pages."""
    store = Store(tmp_path / "whole")
    for number, kind in enumerate(KINDS):
        pid = f"RePEc:abc:wpaper:{number}"
        store.put(store.fut(pdf(number), kind, pid=pid))
        store.put(store.fut(pdf(number), kind, pid=pid, at=START + DAY))
    splap = store.splap(page("p"), pid="RePEc:abc:wpaper:page")
    store.put(splap, store.found(splap, "http://x.example/p.pdf", pdf("p"), inside="the paper"))
    store.put(store.splap(page("alone"), pid="RePEc:abc:wpaper:alone"))
    store.raw.close()
    assert not problems(store.root)
    return store.root


def part(whole: Path, root: Path, which: set[int]) -> Path:
    """An archive of those papers of *whole* that have a number in *which*."""
    Archive.create(root)
    archive = Archive(whole)
    for number, warc in enumerate(archive.warcs()):
        if number in which:
            suwaf = archive.suwaf_path(archive.pid_at(warc))
            for file in (warc, suwaf):
                copy = root / file.relative_to(whole)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(file, copy)
    return root


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_any_partition_by_papers_gives_the_archive_byte_for_byte(
    whole: Path, tmp_path: Path, order: tuple[int, ...]
) -> None:
    parts = [part(whole, tmp_path / f"part{n}", set(range(n, 10, 3)) | {0}) for n in range(3)]
    before = [files(one) for one in parts]
    for number in (*order, order[0]):
        merged = merge(parts[number], tmp_path / "target")
        assert LEFT not in results(merged), merged
    assert stored(tmp_path / "target") == stored(whole)
    assert not problems(tmp_path / "target")
    assert [files(one) for one in parts] == before
    assert {*results(merge(parts[0], tmp_path / "target"))} == {SAME}


def crawled(root: Path, day: int, *, changed: bool) -> Path:
    """The archive of a crawl of three papers on a day; some of their futs have *changed*."""
    store = Store(root, run=str(day))
    at = START + day * DAY
    for kind in ("literal", "gzip"):
        pid = f"RePEc:abc:wpaper:{kind}"
        store.put(store.fut(pdf("same"), kind, pid=pid, at=at))
        store.put(store.fut(pdf(day if changed else "x"), kind, pid=pid, futli=OTHER, at=at))
    splap = store.splap(page("p"), pid="RePEc:abc:wpaper:page", at=at)
    store.put(splap, store.found(splap, "http://x.example/p.pdf", pdf("p"), inside="the paper"))
    store.put(store.fut(pdf(f"only on {day}"), pid=f"RePEc:abc:wpaper:day{day}", at=at))
    store.raw.close()
    return root


@pytest.mark.parametrize("turned", [False, True])
def test_two_crawls_give_the_visits_of_both_and_each_payload_once(
    tmp_path: Path, turned: bool
) -> None:
    sources = [crawled(tmp_path / f"crawl{day}", day, changed=True) for day in (1, 2)]
    before = [files(source) for source in sources]
    target = tmp_path / "target"
    for source in reversed(sources) if turned else sources:
        assert LEFT not in results(merge(source, target))
    assert [files(source) for source in sources] == before
    assert not problems(target)
    for name in ("literal", "gzip", "page"):
        pid = f"RePEc:abc:wpaper:{name}"
        both = visits(sources[0], pid) | visits(sources[1], pid)
        assert visits(target, pid) == both
        assert len(both) == (2 if name == "page" else 4)
    for body in (pdf("same"), pdf("p"), page("p")):
        data = b"".join(path.read_bytes() for path in Archive(target).warcs())
        together = [b"".join(p.read_bytes() for p in Archive(s).warcs()) for s in sources]
        assert data.count(body) == max(one.count(body) for one in together)
    done = stored(target)
    for source in sources:
        assert {*results(merge(source, target))} == {SAME}
    assert stored(target) == done


def test_what_a_fut_is_called_comes_along(tmp_path: Path) -> None:
    sources = [crawled(tmp_path / f"crawl{day}", day, changed=False) for day in (1, 2)]
    for source in sources:
        merge(source, tmp_path / "target")
    suwaf = Archive(tmp_path / "target").suwaf("RePEc:abc:wpaper:page")
    assert [fut.origin.inside for fut in suwaf.futlis[FUTLI].values()] == ["the paper"] * 2


def test_a_source_that_grows_is_merged_as_far_as_it_is_committed(tmp_path: Path) -> None:
    store = Store(tmp_path / "source")
    store.put(store.fut(pdf(1)))
    assert results(merge(store.root, tmp_path / "target")) == [NEW]
    store.put(store.fut(pdf(2), at=START + DAY))
    with store.warc().open("ab") as warc:
        warc.write(b"WARC/1.1\r\nwhat a writer is just about to")
    assert results(merge(store.root, tmp_path / "target")) == [MORE]
    end = json.loads(store.suwaf().read_bytes())["_warc"]["end"]
    merged = Archive(tmp_path / "target").warc_path(Archive(store.root).pid(PID))
    assert merged.read_bytes() == store.warc().read_bytes()[:end]
    assert not problems(tmp_path / "target")
    # and an older copy of it brings nothing
    shutil.copytree(store.root, tmp_path / "older")
    assert results(merge(tmp_path / "older", tmp_path / "target")) == [SAME]


def test_a_futli_stays_open_until_a_later_fut_closes_it(tmp_path: Path) -> None:
    def made(name: str, day: int, **more: Any) -> Path:
        store = Store(tmp_path / name, run=name)
        store.append(store.end([store.fut(pdf(name), at=START + day * DAY)]).captures, **more)
        store.raw.close()
        return store.root

    early, late = made("early", 1, opened=True), made("late", 2)
    for number, order in enumerate(((early, late), (late, early))):
        for source in order:
            merge(source, tmp_path / f"target{number}")
        assert Archive(tmp_path / f"target{number}").suwaf(PID).open == ()
    again = made("again", 3, opened=True)
    merge(again, tmp_path / "target0")
    assert Archive(tmp_path / "target0").suwaf(PID).open == (FUTLI,)


def damaged(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


@pytest.mark.forms(count=6)
@pytest.mark.parametrize("what", ["fut", "header", "suwaf", "short", "no suwaf", "other paper"])
@pytest.mark.parametrize("there", [False, True])
def test_a_damaged_paper_is_left_and_nothing_of_it_taken(
    whole: Path, tmp_path: Path, what: str, there: bool
) -> None:
    target = tmp_path / "target"
    if there:
        store = Store(target)
        store.put(store.fut(pdf("another"), pid="RePEc:abc:wpaper:0", at=START + 9 * DAY))
        store.raw.close()
    archive = Archive(whole)
    pid = archive.pid("RePEc:abc:wpaper:0")
    warc, suwaf = archive.warc_path(pid), archive.suwaf_path(pid)
    before = stored(target)
    if what == "fut":
        damaged(warc, warc.read_bytes().index(b"%PDF-") + 50)
    elif what == "header":
        damaged(warc, warc.read_bytes().index(b"WARC-Date: 2026") + 13)
    elif what == "suwaf":
        suwaf.write_bytes(b"{")
    elif what == "short":
        os.truncate(warc, warc.stat().st_size - 1)
    elif what == "no suwaf":
        suwaf.unlink()
    else:
        other = archive.pid("RePEc:abc:wpaper:1")
        shutil.copy(archive.warc_path(other), warc)
        suwaf.write_bytes(
            archive.suwaf_path(other).read_bytes().replace(str(other).encode(), str(pid).encode())
        )
    merged = merge(whole, target)
    left = [paper for paper in merged if paper.result == LEFT]
    assert len(left) == 1
    assert left[0].problem
    assert not left[0].pid.endswith(".warc")
    assert results(merged).count(NEW) == 9
    name = warc.relative_to(whole).as_posix()
    assert stored(target).get(name) == before.get(name)
    assert not problems(target)
    assert not [path for path in target.rglob(".*") if path.is_file()]


def test_a_paper_whose_first_commit_goes_on_in_a_live_source_is_left_to_the_next_merge(
    whole: Path, tmp_path: Path
) -> None:
    archive, target = Archive(whole), tmp_path / "target"
    pid = archive.pid("RePEc:abc:wpaper:0")
    suwaf = archive.suwaf_path(pid)
    data = suwaf.read_bytes()
    suwaf.unlink()
    with held(archive.warc_path(pid)):
        merged = merge(whole, target)
    assert [paper for paper in merged if paper.problem] == []
    assert results(merged).count(SAME) == 1
    assert not Archive(target).suwaf_path(pid).exists()
    suwaf.write_bytes(data)
    assert results(merge(whole, target)).count(NEW) == 1


CHANGES = tuple(kind for kind in KINDS_OF_CALLS if kind not in ("open", "mkdir", "flock"))


@pytest.mark.draws("of the calls")
def test_a_merge_that_is_killed_at_any_call_goes_on() -> None:
    with quick_folder() as folder:
        each_kill(folder)


def each_kill(tmp_path: Path) -> None:
    sources = [crawled(tmp_path / f"crawl{day}", day, changed=True) for day in (1, 2)]
    undisturbed = tmp_path / "undisturbed"
    for source in sources:
        merge(source, undisturbed)
    for at in itertools.count(1, suites.amount(3, 1)):
        target = tmp_path / f"killed{at}"
        Archive.create(target)
        plan = Plan(root=str(target), kill=Which(nth=at, kinds=CHANGES))
        runs = [in_child(partial(merge, source, target), tmp_path / "log", plan)
                for source in sources]  # fmt: skip
        for source in sources:
            assert LEFT not in results(merge(source, target))
        if not any(run.code for run in runs):
            break
        assert {run.code for run in runs} <= {0, -signal.SIGKILL}
        assert [*map(str, problems(target))] == []
        for warc in Archive(undisturbed).warcs():
            pid = str(Archive(undisturbed).pid_at(warc))
            assert visits(target, pid) == visits(undisturbed, pid), at
        shutil.rmtree(target)
    assert at > 20


def test_a_forecast_says_what_a_merge_does_and_changes_nothing(tmp_path: Path) -> None:
    one, two = (crawled(tmp_path / f"crawl{day}", day, changed=True) for day in (1, 2))
    before = files(one)
    archive, target = Archive(two), Archive(one)
    told = [*forecast_papers(archive, target, archive.warcs())]
    assert files(one) == before
    assert told == merge(two, one)
    assert {*results(forecast_papers(archive, target, archive.warcs()))} == {SAME}
