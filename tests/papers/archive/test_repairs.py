"""What can be brought back is, nothing else is touched, and no byte is lost."""

from __future__ import annotations

import fcntl
import json
import os
import random
import re
import shutil
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from datetime import timedelta
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings

from lafka.cli.verbs import made
from lafka.papers.archive.archives import Archive
from lafka.papers.checking import Verifier
from tests import suites
from tests.damages import Damage, damages
from tests.stores import START, Store, cuts, files, page, pdf

PID = "RePEc:abc:wpaper:1"
OTHER = "RePEc:abc:wpaper:2"
WARC = "warc/RePEc/abc/wpaper/1.warc"
SUWAF = "suwaf/RePEc/abc/wpaper/1.json"
FOLDER = "RePEc/abc/wpaper"

State = dict[str, tuple[bytes, int]]


def filled(root: Path) -> list[State]:
    """An archive of two papers without raw WARCs; what it held after each trail."""
    store, past = Store(root), []
    for number, kind in enumerate(("literal", "chunked", "literal", "gzip", "junk-led", "literal")):
        at = START + timedelta(minutes=number)
        pid = OTHER if number == 2 else PID
        splap = store.splap(page(number), pid=pid, at=at)
        body = pdf("first" if number == 5 else number or "first")
        store.put(splap, store.found(splap, f"http://x.example/{number}.pdf", body, kind))
        past.append(state(root))
    store.raw.close()
    past.append(state(root))
    root.with_name("older.json").write_bytes(past[1][SUWAF][0])
    return past


def state(root: Path) -> State:
    """Each file's bytes and its time of change."""
    return {name: (data, (root / name).stat().st_mtime_ns) for name, data in files(root).items()}


def restore(root: Path, past: State) -> None:
    shutil.rmtree(root)
    for name, (data, _) in past.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    filled(tmp_path / "archive")
    return tmp_path / "archive"


def repair(root: Path, *args: str, **settings: Any) -> tuple[int, list[dict[str, Any]], str]:
    """Exit code, deeds, and what was said on standard error behind the archive's name."""
    command = made("repair")
    command.settings = Settings({"LAFKA_ARCHIVE": str(root), **settings})
    parser = ArgumentParser()
    parser.add_argument("args", nargs="*")
    parser.add_argument("--dry-run", action="store_true")
    options = parser.parse_args(args)
    with redirect_stdout(StringIO()) as told, redirect_stderr(StringIO()) as said:
        command.run(options.args, options)
    deeds = [json.loads(line) for line in told.getvalue().splitlines()]
    first, _, rest = said.getvalue().rstrip("\n").partition("\n")
    assert first.startswith(f"archive: {root} (")
    return command.exitcode, deeds, rest


def found(root: Path) -> set[str]:
    return {problem.code for problem in Verifier(root).verify_all()} - {"torn-aside"}


def edit(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    return lambda root: (root / name).write_bytes(change((root / name).read_bytes())) and None


def older_suwaf(root: Path) -> None:
    (root / SUWAF).write_bytes(root.with_name("older.json").read_bytes())


def values(change: Callable[[dict[str, Any]], object]) -> Callable[[bytes], bytes]:
    def changed(data: bytes) -> bytes:
        suwaf = json.loads(data)
        change(suwaf)
        return json.dumps(suwaf, ensure_ascii=False, indent=1).encode() + b"\n"

    return changed


def first_entry(suwaf: dict[str, Any]) -> dict[str, Any]:
    return next(iter(next(iter(suwaf[PID].values())).values()))  # type: ignore[no-any-return]


def both(*steps: Callable[[Path], None]) -> Callable[[Path], None]:
    return lambda root: [step(root) for step in steps] and None


def without(name: str) -> Callable[[Path], None]:
    return lambda root: (root / name).unlink()


def put(name: str, data: bytes) -> Callable[[Path], None]:
    return lambda root: (root / name).write_bytes(data) and None


def draft_warc(root: Path) -> None:
    """A first commit that was killed before its rename, with a torn record behind it."""
    (root / WARC).rename(root / "warc" / FOLDER / ".draft-1.warc")
    (root / SUWAF).unlink()
    with (root / "warc" / FOLDER / ".draft-1.warc").open("ab") as file:
        file.write(b"WARC/1.1\r\nWARC-Ty")


TORN = b"WARC/1.1\r\nWARC-Type: resp"
MENDED: dict[str, tuple[Callable[[Path], None], str]] = {
    "no suwaf": (without(SUWAF), "rebuild"),
    "no suwaf and a torn tail": (both(without(SUWAF), edit(WARC, lambda d: d + TORN)), "rebuild"),
    "empty suwaf": (put(SUWAF, b""), "rebuild"),
    "cut suwaf": (edit(SUWAF, lambda data: data[:200]), "rebuild"),
    "zeroed suwaf": (edit(SUWAF, lambda data: bytes(len(data))), "rebuild"),
    "suwaf of another paper": (
        lambda root: put(SUWAF, (root / SUWAF.replace("1.json", "2.json")).read_bytes())(root),
        "rebuild",
    ),
    "older suwaf": (older_suwaf, "recover"),
    "a fut is not named": (edit(SUWAF, values(lambda s: s[PID].clear())), "rebuild"),
    "wrong place": (edit(SUWAF, values(lambda s: first_entry(s).update(s=7))), "rebuild"),
    "wrong digest": (
        edit(SUWAF, values(lambda s: first_entry(s).update(digest="sha256:" + "0" * 64))),
        "rebuild",
    ),
    "wrong URL": (edit(SUWAF, values(lambda s: first_entry(s).update(url="http://y/"))), "rebuild"),
    "a chain that is none": (edit(SUWAF, values(lambda s: s["_warc"].update(chain=""))), "rebuild"),
    "another spelling": (edit(SUWAF, lambda data: data.replace(b"{", b"{ ", 1)), "rebuild"),
    "no end": (edit(SUWAF, values(lambda suwaf: suwaf.pop("_warc"))), "rebuild"),
    "end inside a record": (
        edit(SUWAF, values(lambda s: s["_warc"].update(end=s["_warc"]["end"] - 9))),
        "rebuild",
    ),
    "torn tail": (edit(WARC, lambda data: data + TORN), "recover"),
    "zeros behind the end": (edit(WARC, lambda data: data + bytes(4096)), "recover"),
    "captures of another paper behind the end": (
        lambda root: edit(WARC, lambda d: d + (root / WARC.replace("1.", "2.")).read_bytes())(root),
        "recover",
    ),
    "older suwaf and a torn tail": (both(older_suwaf, edit(WARC, lambda d: d + TORN)), "recover"),
    "draft of a WARC": (draft_warc, "finish"),
    "empty draft of a WARC": (put(f"warc/{FOLDER}/.draft-9.warc", b""), "finish"),
    "draft of nothing whole": (put(f"warc/{FOLDER}/.draft-9.warc", TORN), "finish"),
    "draft of a suwaf": (put(f"suwaf/{FOLDER}/.draft-1.json", b"{"), "finish"),
    "killed while a tail was set aside": (
        both(
            edit(WARC, lambda data: data + TORN), put(f"warc/{FOLDER}/.draft-1.warc.torn", TORN[:5])
        ),
        "recover",
    ),
}


@pytest.mark.forms(count=12)
@pytest.mark.parametrize("name", MENDED)
def test_what_can_be_mended_is(root: Path, name: str) -> None:
    damage, deed = MENDED[name]
    futs, whole = cuts(Archive(root)), files(root)[SUWAF]
    damage(root)
    before = state(root)
    code, planned, said = repair(root, "--dry-run")
    assert state(root) == before
    assert (code, [(d["deed"], d["done"]) for d in planned]) == (0, [(deed, False)]), planned
    assert said == "1 to mend, 0 left as they are"
    code, deeds, said = repair(root)
    assert (code, [(d["deed"], d["done"]) for d in deeds]) == (0, [(deed, True)]), deeds
    assert said == "1 mended, 0 left as they are"
    assert deeds[0]["codes"] == planned[0]["codes"]
    assert deeds[0]["path"] == planned[0]["path"]
    assert found(root) == set()
    assert cuts(Archive(root)) == futs
    assert files(root)[SUWAF] == whole
    assert_nothing_is_lost(before, root)
    after = state(root)
    assert repair(root) == (0, [], "0 mended, 0 left as they are")
    assert state(root) == after


def assert_nothing_is_lost(before: State, root: Path) -> None:
    """Every WARC grew, or what was cut off is aside; a suwaf that said anything else is aside."""
    after = files(root)
    aside = [data for name, data in after.items() if ".torn-" in name]
    for name, (data, _) in before.items():
        now = after.get(name.replace(".draft-", "")) or b""
        if name.endswith(".warc"):
            cut = (data.removesuffix(torn) for torn in aside if data.endswith(torn))
            assert now.startswith(data) or any(now.startswith(kept) for kept in cut), name
        elif name.endswith(".json") and ".draft-" not in name and data != now:
            assert data in aside or is_older(data, now), name


def is_older(old: bytes, new: bytes) -> bool:
    """Whether the suwaf *old* says nothing that *new* does not."""
    try:
        one, other = (json.loads(data) for data in (old, new))
        return all(
            other[pid][futli][time] == entry
            for pid, futlis in one.items()
            for futli, times in (futlis.items() if pid != "_warc" else ())
            for time, entry in times.items()
        )
    except (ValueError, LookupError, AttributeError):
        return False


def swapped(root: Path) -> None:
    (root / WARC).write_bytes((root / WARC.replace("1.warc", "2.warc")).read_bytes())


LEFT: dict[str, tuple[Callable[[Path], None], str]] = {
    "short WARC": (edit(WARC, lambda data: data[:-500]), "short-warc"),
    "short by a capture": (edit(WARC, lambda data: data[: data.rindex(b"WARC/1.1")]), "short-warc"),
    "no WARC": (without(WARC), "no-warc"),
    "empty WARC": (put(WARC, b""), "short-warc"),
    "a byte of a fut": (edit(WARC, lambda d: d.replace(b"%%EOF", b"%%EOE", 1)), "block-digest"),
    "a byte of a header": (
        edit(WARC, lambda data: data.replace(b"127.0.0.1", b"127.0.0.3", 1)),
        "headers-changed",
    ),
    "damage and an older suwaf": (
        both(older_suwaf, edit(WARC, lambda data: data.replace(b"%%EOF", b"%%EOE", 1))),
        "block-digest",
    ),
    "damage and no suwaf": (
        both(without(SUWAF), edit(WARC, lambda data: data.replace(b"%%EOF", b"%%EOE", 1))),
        "no-suwaf",
    ),
    "damage and a bad suwaf": (
        both(put(SUWAF, b"{"), edit(WARC, lambda data: data.replace(b"\r\n\r\nWARC/1.1", b"", 1))),
        "bad-suwaf",
    ),
    "a record behind the end that was there before": (
        edit(WARC, lambda data: data + data[: data.index(b"WARC/1.1", 9)]),
        "repeated-id",
    ),
    "WARC of another paper": (swapped, "wrong-pid"),
    "WARC of another paper without a suwaf": (both(swapped, without(SUWAF)), "wrong-pid"),
    "no marker": (put("lafka.json", b"{}"), ""),
    "a fut that was acknowledged": (
        put(
            "runs/1.jsonl",
            b'{"pid": "RePEc:abc:wpaper:1", "futs": [{"digest": "x", "s": 1, "l": 2}]}\n',
        ),
        "acknowledged-lost",
    ),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_cannot_be_mended_is_told_and_left(root: Path, name: str) -> None:
    damage, code = LEFT[name]
    damage(root)
    before, errors = state(root), found(root)
    exitcode, deeds, said = repair(root)
    assert state(root) == before
    assert found(root) == errors
    if not code:  # not an archive of this layout
        assert (exitcode, deeds) == (2, [])
        return
    assert exitcode == 1
    assert {deed["deed"] for deed in deeds} == {"left"}
    assert code in {code for deed in deeds for code in deed["codes"]}
    assert re.fullmatch(r"0 mended, [1-9]\d* left as they are", said)


def test_one_paper_alone(root: Path) -> None:
    both(without(SUWAF), without(SUWAF.replace("1.json", "2.json")))(root)
    code, deeds, _ = repair(root, PID)
    assert (code, [deed["path"] for deed in deeds]) == (0, [str(root / SUWAF)])
    assert found(root) == {"no-suwaf"}
    put(f"suwaf/{FOLDER}/.draft-1.json", b"{")(root)
    assert repair(root, PID)[1][0]["deed"] == "finish"
    assert repair(root, "RePEc:abc:wpaper:77")[0] == 2
    assert repair(root, "nonsense")[0] == 2


def test_a_cut_path_is_known_by_what_is_inside(tmp_path: Path) -> None:
    store, pid = Store(tmp_path / "archive"), "RePEc:abc:wpaper:" + "x" * 300
    store.put(store.fut(pdf(), pid=pid))
    store.raw.close()
    warc, suwaf = store.warc(pid), store.suwaf(pid)
    whole = suwaf.read_bytes()
    suwaf.unlink()
    assert repair(store.root)[0] == 0
    assert suwaf.read_bytes() == whole
    suwaf.unlink()
    warc.rename(warc.with_name(f".draft-{warc.name}"))
    code, deeds, _ = repair(store.root)
    assert (code, [deed["deed"] for deed in deeds]) == (0, ["finish"])
    assert suwaf.read_bytes() == whole
    suwaf.with_name(f".draft-{suwaf.name}").write_bytes(b"")
    assert repair(store.root)[0] == 0
    assert found(store.root) == set()


@pytest.fixture
def killed(tmp_path: Path) -> Iterator[Store]:
    """A run that has captured a trail and was killed before it copied it."""
    store = Store(tmp_path / "archive")
    store.end([store.fut(pdf("killed"))])
    yield store
    if store.raw._lock >= 0:
        os.close(store.raw._lock)


def test_raw_warcs_of_a_dead_run_are_adopted(killed: Store) -> None:
    os.close(killed.raw._lock)
    killed.raw._lock = -1
    before = state(killed.root)
    code, deeds, _ = repair(killed.root, "--dry-run")
    assert (code, [deed["deed"] for deed in deeds]) == (0, ["adopt"])
    assert state(killed.root) == before
    code, deeds, _ = repair(killed.root)
    assert (code, [deed["deed"] for deed in deeds]) == (0, ["adopt"])
    assert set(cuts(killed.archive).values()) == {pdf("killed")}
    assert found(killed.root) == set()


def test_kept_raw_warcs_stay(killed: Store) -> None:
    os.close(killed.raw._lock)
    killed.raw._lock = -1
    raw = {name for name in files(killed.root) if name.endswith(".warc")}
    assert repair(killed.root, LAFKA_KEEP_RAW=True)[0] == 0
    assert raw <= files(killed.root).keys()
    assert repair(killed.root)[1] == []


def test_a_dead_run_that_cannot_be_copied_is_left(killed: Store) -> None:
    os.close(killed.raw._lock)
    killed.raw._lock = -1
    killed.suwaf().parent.mkdir(parents=True)
    killed.suwaf().write_bytes(b'{"RePEc:abc:wpaper:1": {}, "_warc": {"format": 1, "end": 9}}\n')
    code, deeds, _ = repair(killed.root)
    assert code == 1
    assert {c for d in deeds if d["deed"] == "left" for c in d["codes"]} >= {"no-warc", "raw-left"}
    assert [name for name in files(killed.root) if name.startswith("raw/")]


def test_runs_and_writers_at_work_are_left_alone(killed: Store) -> None:
    draft = killed.warc().with_name(".draft-1.warc")
    draft.parent.mkdir(parents=True, exist_ok=True)
    with draft.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        before = state(killed.root)
        for args in ((), ("--dry-run",)):
            assert repair(killed.root, *args)[:2] == (0, [])
        assert state(killed.root) == before


@pytest.mark.draws("of the damages")
def test_random_damages_lose_nothing(tmp_path: Path) -> None:
    count = suites.amount(20, 120)
    root = tmp_path / "archive"
    *older, whole = filled(root)
    papers = [n for n in whole if n.startswith(("warc/", "suwaf/"))]
    contents = {root / name: whole[name][0] for name in papers}
    past = {root / n: [s[n][0] for s in older if n in s and s[n] != whole[n]] for n in papers}
    mended = 0
    drawn: Iterator[Damage] = damages(contents, past, random.Random(11))
    for damage in islice(drawn, count):
        damage.file.write_bytes(damage.data)
        before, errors = state(root), found(root)
        planned = repair(root, "--dry-run")
        assert state(root) == before, damage.what
        code, deeds, _ = repair(root)
        assert code >= any(p.severity == "error" for p in Verifier(root).verify_all())
        assert planned[0] == code, damage.what
        assert_nothing_is_lost(before, root)
        if damage.file.suffix == ".json" and code:
            # These say that the WARC is shorter or other than it was: only a person can tell.
            assert errors & {"short-warc", "headers-changed"}, (damage.what, deeds)
        mended += bool(deeds) and not code
        restore(root, whole)
    assert mended > count // 4
