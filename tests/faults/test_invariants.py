"""Each invariant's function says something where its invariant is broken, and nothing else does."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults import invariants
from tests.faults.crawls import Crawls, Run
from tests.faults.kills import Ordeal
from tests.faults.sites import FaultSite
from tests.faults.storecalls import Call


@pytest.fixture(scope="module")
def sound(starter: Crawls, served: FaultSite, tmp_path_factory: pytest.TempPathFactory) -> Path:
    ordeal = Ordeal(starter, served)
    ordeal.finish()
    assert ordeal.troubles == []
    kept = tmp_path_factory.mktemp("sound") / "archive"
    shutil.copytree(ordeal.archive, kept)
    return kept


@pytest.fixture
def root(sound: Path, tmp_path: Path) -> Path:
    shutil.copytree(sound, tmp_path / "archive")
    return tmp_path / "archive"


def at(root: Path, name: str) -> Path:
    [path] = root.rglob(name)
    return path


def change(path: Path, old: bytes, new: bytes) -> None:
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new, 1))


def short(root: Path) -> None:
    path = at(root, "a0.warc")
    path.write_bytes(path.read_bytes()[:-9])


def flipped(root: Path) -> None:
    change(at(root, "a0.warc"), b"startxref", b"startxreg")


def header(root: Path) -> None:
    change(at(root, "a0.warc"), b"WARC-Type: request", b"WARC-Type: requesT")


def twice(root: Path) -> None:
    path = at(root, "b0.warc")
    path.write_bytes(path.read_bytes() * 2)


def lost(root: Path) -> None:
    for name in ("c0.warc", "c0.json"):
        at(root, name).unlink()


def other_lost(root: Path) -> None:
    at(root, "g0.warc").write_bytes(b"")


def line_gone(root: Path) -> None:
    feed = at(root, "*.jsonl")
    feed.write_bytes(b"".join(feed.read_bytes().splitlines(keepends=True)[1:]))


def line_twice(root: Path) -> None:
    feed = at(root, "*.jsonl")
    feed.write_bytes(feed.read_bytes() + feed.read_bytes().splitlines(keepends=True)[0])


def draft(root: Path) -> None:
    at(root, "a0.warc").with_name(".draft-x.warc").touch()


def raw(root: Path) -> None:
    (root / "raw" / "run").mkdir()


def missing(root: Path) -> None:
    path = at(root, "d0.json")
    values = json.loads(path.read_bytes())
    path.write_text(json.dumps({pid: {} if pid != "_warc" else v for pid, v in values.items()}))


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (short, "its suwaf knows"),
        (flipped, "s, l cut out something else"),
        (flipped, "block-digest"),
        (header, "headers-changed"),
        (twice, "stands there 2 times"),
        (lost, "acknowledged"),
        (other_lost, "is acknowledged and not there"),
        (line_gone, "1 times too few"),
        (line_twice, "1 times too many"),
        (draft, "a draft"),
        (raw, "left"),
        (missing, "missing: "),
    ],
)
def test_what_is_broken_is_told(
    root: Path, served: FaultSite, damage: Callable[[Path], None], told: str
) -> None:
    assert invariants.at_the_end(root, served.lines, served.sent()) == []
    damage(root)
    found = invariants.at_the_end(root, served.lines, served.sent())
    assert any(told in trouble for trouble in found), found


def test_a_rerun_that_asks_or_adds_is_told(root: Path) -> None:
    before = invariants.files_but_feeds(root)
    assert list(invariants.a_rerun_asks_and_adds_nothing(before, root, [])) == []
    assert list(invariants.a_rerun_asks_and_adds_nothing(before, root, ["/x"])) == ["asked for /x"]
    flipped(root)
    assert len(list(invariants.a_rerun_asks_and_adds_nothing(before, root, []))) == 1
    draft(root)
    assert len(list(invariants.a_rerun_asks_and_adds_nothing(before, root, []))) == 2


def test_a_changed_prefix_is_told(root: Path) -> None:
    prefixes = invariants.Prefixes()
    assert prefixes.look(root) == []
    with at(root, "a0.warc").open("ab") as file:
        file.write(b"more")
    assert prefixes.look(root) == []
    header(root)
    assert len(prefixes.look(root)) == 1


def test_a_reader_tells_what_it_cannot_read(root: Path) -> None:
    reader = invariants.Reader(root)
    reader.look()
    assert reader.troubles == []
    short(root)
    reader.look()
    assert reader.troubles


def test_what_is_outside_is_told() -> None:
    def run(*calls: Call, kib: int = 1) -> Run:
        return Run(code=0, log="", calls=calls, kib=kib)

    assert invariants.of_the_process(run(Call(kind="connect", path="('127.0.0.31', 80)"))) == []
    for call in (
        Call(kind="connect", path="('192.0.2.1', 80)"),
        Call(kind="outside", path="/elsewhere"),
    ):
        assert len(invariants.of_the_process(run(call))) == 1
    assert len(invariants.of_the_process(run(kib=2 << 20))) == 1


def test_the_page_names_every_invariant() -> None:
    """docs/reliability.md has a line for each of the thirteen, and what it names is there."""
    page = (Path(__file__).parents[2] / "docs" / "reliability.md").read_text("utf-8")
    rows = re.findall(r"(?m)^\| (\d+) \|.*$", page)
    assert [int(number) for number in rows] == [*range(1, 14)]
    for name in _named(page):
        file, _, test = name.partition("::")
        path = Path(__file__).parents[2] / file
        assert path.exists(), name
        assert not test or f"def {test}(" in path.read_text("utf-8"), name


def _named(page: str) -> Iterator[str]:
    return (name for name in re.findall(r"`(tests/[\w/.]+(?:::\w+)?)`", page))
