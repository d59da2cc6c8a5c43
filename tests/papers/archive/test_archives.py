from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lafka.errors import (
    BadArchive,
    BadPid,
    BadSuwaf,
    BadWarc,
    CallerError,
    NotHeld,
    ShortWarc,
    StorageTrouble,
)
from lafka.papers.archive.archives import Archive
from tests.stores import FUTLI, KINDS, PID, START, Store, cuts, files, page, pdf, problems

ROOT = Path(__file__).parents[3]
UGLY = (
    "RePEc:abc:wpaper:" + "x" * 300,
    "RePEc:abc:wpaper:" + "Ж" * 120,
    "RePEc:abc:" + "s" * 250 + ":1",
    'RePEc:abc:wpaper:it\'s "1"'.replace(" ", "_"),
    "RePEc:abc:wpaper:é/../ü%2F",
    "RePEc:abc:wpaper:1.2.warc",
    "RePEc:abc:wpaper:v.",
    "doi:10.1016/" + "y" * 250,
    "doi:10.1016/j.x.2020(1)",
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "archive")
    yield made
    made.raw.close()


# Roots


def test_an_archive_is_made_and_marked_once(tmp_path: Path) -> None:
    root = tmp_path / "deep" / "archive"
    Archive.create(root, "Socionet")
    assert json.loads((root / "lafka.json").read_bytes()) == {
        "format": 1, "collection": "Socionet",
    }  # fmt: skip
    before = files(root)
    assert Archive.create(root).scheme.name == "Socionet"
    assert Archive(root, "Socionet").scheme.name == "Socionet"
    assert files(root) == before


def test_two_makers_make_one(tmp_path: Path) -> None:
    made: list[str] = []
    names = ["RePEc", "Socionet"] * 4

    def make(name: str) -> None:
        try:
            made.append(Archive.create(tmp_path / "a", name).scheme.name)
        except BadArchive:
            made.append("")

    threads = [threading.Thread(target=make, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    winner = json.loads((tmp_path / "a" / "lafka.json").read_bytes())["collection"]
    assert sorted(made) == [""] * 4 + [winner] * 4
    assert not [path for path in (tmp_path / "a").iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(
    ("marker", "said"),
    [
        (b'{"format": 2, "collection": "RePEc"}', "another layout"),
        (b'{"collection": "RePEc"}', "another layout"),
        (b"[]", "another layout"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b'{"format": 1, "collection": "Nobody"}', "Nobody, not of RePEc"),
        (b'{"format": 1, "collection": "any"}', "of any, not of RePEc"),
    ],
)
def test_another_layout_or_collection_is_refused(tmp_path: Path, marker: bytes, said: str) -> None:
    (tmp_path / "lafka.json").write_bytes(marker)
    for make in (Archive, Archive.create):
        with pytest.raises(BadArchive, match=said) as caught:
            make(tmp_path, "RePEc")
        assert "\n" not in str(caught.value)
    assert files(tmp_path) == {"lafka.json": marker}


def test_an_unknown_collection_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadArchive, match="RePEc, Socionet, any"):
        Archive.create(tmp_path / "a", "repec")
    assert not (tmp_path / "a").exists()


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(BadArchive, match=r"thesis\.tex"):
        Archive.create(tmp_path)
    assert files(tmp_path) == {"thesis.tex": b"mine"}
    assert list(tmp_path.iterdir()) == [tmp_path / "thesis.tex"]


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("")
    for root in (path, path / "below"):
        with pytest.raises(BadArchive, match="cannot be written"):
            Archive.create(root)
    with pytest.raises(BadArchive, match="no archive is here"):
        Archive(tmp_path / "nothing")


def test_an_archive_without_marker_is_one_of_the_first_lafka(tmp_path: Path) -> None:
    (tmp_path / "warc" / "RePEc").mkdir(parents=True)
    assert Archive(tmp_path).scheme.name == "RePEc"
    assert Archive(tmp_path, "Socionet").scheme.name == "Socionet"
    assert not (tmp_path / "lafka.json").exists()
    Archive.create(tmp_path, "Socionet")
    with pytest.raises(BadArchive):
        Archive(tmp_path, "RePEc")


def test_a_folder_that_cannot_be_written_is_told_and_can_be_read(store: Store) -> None:
    store.put(store.fut(pdf()))
    program = """
import os, sys
from lafka.papers.archive.archives import Archive
from lafka.errors import BadArchive, StorageTrouble
root = sys.argv[1]
if os.geteuid() == 0:
    os.setgid(65534), os.setuid(65534)
archive = Archive(root)
print(len(archive.fut("RePEc:abc:wpaper:1").read()))
try:
    Archive.create(root)
except BadArchive as error:
    print(error)
for pid in ("RePEc:abc:wpaper:1", "RePEc:new:wpaper:1"):
    try:
        with archive.paper(archive.pid(pid)):
            pass
    except StorageTrouble as error:
        print(error)
"""
    folders = [store.root, *(path for path in store.root.rglob("*") if path.is_dir())]
    parents = [path for path in store.root.parents if not path.stat().st_mode & 0o001]
    before = files(store.root / "warc")
    modes = {path: path.stat().st_mode for path in (*folders, *parents, store.warc())}
    try:
        for path in parents:
            path.chmod(path.stat().st_mode | 0o005)
        for path in folders:
            path.chmod(0o555)
        store.warc().chmod(0o444)
        done = subprocess.run(
            [sys.executable, "-c", program, store.root],
            cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    finally:
        for path, mode in modes.items():
            path.chmod(mode)
    if "ModuleNotFoundError" in done.stderr or "can't open" in done.stderr:
        pytest.skip("nobody may read this Python")
    size, *said = done.stdout.splitlines()
    assert int(size) == len(pdf())
    assert len(said) == 3, done.stderr
    assert all("Permission denied" in line for line in said)
    assert files(store.root / "warc") == before


# Futs


def test_a_fut_by_pid_futli_and_time(store: Store) -> None:
    other = "http://y.example/2"
    times = [START + timedelta(days=days) for days in (0, 1, 2)]
    for name, futli, time in zip("abc", (FUTLI, other, FUTLI), times, strict=True):
        store.put(store.fut(pdf(name), futli=futli, at=time))
    archive = store.archive
    fut = archive.fut(PID)
    assert (fut.futli, fut.time, fut.read()) == (FUTLI, "2026-11-22T10:11:12Z", pdf("c"))
    assert archive.fut("repec:ABC:wpaper:1").read() == pdf("c")
    assert archive.fut(archive.pid(PID), other).read() == pdf("b")
    for time, name in (
        ("2026-11-20T10:11:12Z", "a"),
        ("2026-11-20", "a"),
        ("2026-11-21T23", "b"),
        ("2026", "c"),
        ("2026-11-21T10:11:12.000Z", "b"),
        ("9999Z", "c"),
    ):
        assert archive.fut(PID, time=time).read() == pdf(name)
    assert archive.fut(PID, FUTLI, "2026-11-21").read() == pdf("a")
    for futli, time in ((None, "2026-11-19"), (other, "2026-11-20"), ("http://z/", None)):
        with pytest.raises(NotHeld):
            archive.fut(PID, futli, time)
    for time in ("yesterday", "20.11.2026", "2026-11-20 10:11", "2026-11-20T10:11:12+01:00"):
        with pytest.raises(CallerError, match="not a time"):
            archive.fut(PID, time=time)
    with pytest.raises(NotHeld):
        archive.fut("RePEc:abc:wpaper:2")
    with pytest.raises(BadPid):
        archive.fut("RePEc:abc")


def test_a_time_within_a_second_that_several_futs_share(store: Store) -> None:
    for name, milliseconds in (("a", 0), ("b", 200), ("c", 400)):
        store.put(store.fut(pdf(name), at=START + timedelta(milliseconds=milliseconds)))
    for time, name in (("12", "c"), ("12.449", "a"), ("12.450Z", "b"), ("12.100", "a")):
        assert store.archive.fut(PID, time=f"2026-11-20T10:11:{time}").read() == pdf(name)


def test_a_labelled_pdf_is_given_on_request_alone(store: Store) -> None:
    splap = store.splap(page())
    extra = store.found(splap, "http://x.example/s.pdf", pdf("s"), label="supplement")
    store.put(splap, extra)
    with pytest.raises(NotHeld, match="no fut is held, but PDFs are: 1 labelled 'supplement'"):
        store.archive.fut(PID)
    with pytest.raises(NotHeld, match="no PDF labelled 'other' is held, but PDFs are: 1 "):
        store.archive.fut(PID, label="other")
    for label in ("supplement", None):
        fut = store.archive.fut(PID, label=label)
        assert (fut.label, fut.read()) == ("supplement", pdf("s"))
    assert not store.archive.has_fut(splap.ask.futli)
    store.put(store.found(splap, "http://x.example/1.pdf", pdf("f"), at=START))
    for label in ("", None):
        fut = store.archive.fut(PID, label=label)
        assert (fut.label, fut.read()) == ("", pdf("f"))
    assert store.archive.fut(PID, label="supplement").read() == pdf("s")
    assert store.archive.has_fut(splap.ask.futli)


def test_has_fut_since(store: Store) -> None:
    fut = store.fut(pdf())
    futli = fut.ask.futli
    assert not store.archive.has_fut(futli)
    store.put(fut)
    assert store.archive.has_fut(futli)
    assert store.archive.has_fut(futli, START - timedelta(days=1))
    assert store.archive.has_fut(futli, START)
    assert not store.archive.has_fut(futli, START + timedelta(seconds=1))
    assert not store.archive.has_fut(replace(futli, url=futli.url + "#"))


def test_a_stored_fut_says_what_it_is(store: Store) -> None:
    store.put(store.fut(pdf(), "junk-led"))
    fut = store.archive.fut(PID)
    assert fut.url == FUTLI
    assert fut.digest == "sha256:" + __import__("hashlib").sha256(pdf()).hexdigest()
    with fut.warc.open("rb") as file:
        file.seek(fut.start)
        assert file.read(fut.length) == pdf()


@pytest.mark.parametrize("kind", KINDS)
def test_a_fut_as_a_file(store: Store, kind: str) -> None:
    body = pdf(size=70_000)
    store.put(store.fut(body, kind))
    fut, plain = store.archive.fut(PID), io.BytesIO(body)
    with fut.open() as file:
        assert file.seekable()
        assert file.readable()
        assert not file.writable()
        for offset, whence in ((0, 0), (10, 0), (-7, 2), (0, 2), (5, 2), (-3, 1), (65_000, 0)):
            assert file.seek(offset, whence) == plain.seek(offset, whence)
            for size in (0, 1, 5, 20_000, -1):
                assert file.read(size) == plain.read(size)
                assert file.tell() == plain.tell()
        file.seek(0)
        buffer = bytearray(100_000)
        assert file.readinto(buffer) == len(body)
        assert buffer[: len(body)] == body
        assert file.readinto(buffer) == 0
        assert file.raw.readall() == b""
        with pytest.raises((ValueError, OSError)):
            file.seek(-1)
        with pytest.raises((ValueError, OSError)):
            file.seek(0, 7)
    with pytest.raises(ValueError, match="closed"):
        file.read()


def test_a_fut_of_no_bytes_and_a_fut_that_is_cut(store: Store) -> None:
    store.put(store.fut(pdf(size=20_000)))
    fut = store.archive.fut(PID)
    empty = replace(fut, length=0)
    assert empty.read() == b""
    with empty.open() as file:
        assert file.read() == b""
    with store.warc().open("r+b") as file:
        file.truncate(fut.start + 10_000)
    with pytest.raises(ShortWarc):
        fut.read()
    with fut.open() as part:
        assert part.read(5) == b"%PDF-"
        with pytest.raises(ShortWarc):
            part.read()
    store.warc().unlink()
    with pytest.raises(NotHeld, match="is missing"):
        fut.read()
    with pytest.raises(NotHeld, match="is missing"):
        fut.open()


def test_a_suwaf_that_cannot_be_read_is_told(store: Store) -> None:
    store.put(store.fut(pdf()))
    fut = store.archive.fut(PID)
    store.suwaf().write_text("[")
    with pytest.raises(BadSuwaf, match=r"1\.json"):
        store.archive.fut(PID)
    store.suwaf().unlink()
    store.suwaf().mkdir()
    with pytest.raises(StorageTrouble, match=r"1\.json"):
        store.archive.fut(PID)
    store.warc().unlink()
    store.warc().mkdir()
    with pytest.raises(StorageTrouble, match=r"1\.warc"):
        fut.read()


# Papers


@pytest.mark.parametrize("pid", UGLY)
def test_ugly_pids(store: Store, pid: str) -> None:
    store.put(store.fut(pdf(), pid=pid, futli="http://x.example/\u202e'\"\\é?<>/"))
    archive = store.archive
    assert archive.fut(pid).read() == pdf()
    [warc] = archive.warcs()
    assert archive.pid_at(warc) == archive.pid(pid)
    kept = store.suwaf(pid).read_bytes()
    store.suwaf(pid).unlink()
    assert archive.pid_at(warc) == archive.pid(pid)
    archive.rebuild(archive.pid(pid))
    assert store.suwaf(pid).read_bytes() == kept
    store.suwaf(pid).write_bytes(b"{")
    assert archive.pid_at(warc) == archive.pid(pid)
    archive.rebuild(archive.pid(pid))
    assert problems(store.root, "raw-left", "bad-uri") == []


def test_a_path_of_no_pid_is_refused(store: Store) -> None:
    for name in ("RePEc/ABC/wpaper/1.warc", "x.warc", "RePEc/abc/wpaper/%4.warc"):
        with pytest.raises(BadPid):
            store.archive.pid_at(store.root / "warc" / name)
    long = "RePEc:abc:wpaper:" + "x" * 300
    store.put(store.fut(pdf(), pid=long))
    path = store.warc(long)
    moved = path.with_name("y" + path.name[1:])
    path.rename(moved)
    store.suwaf(long).unlink()
    with pytest.raises(BadPid, match="no Paper-Id"):
        store.archive.pid_at(moved)


def test_warcs_are_those_of_papers(store: Store) -> None:
    for number in (3, 1, 2):
        store.put(store.fut(pdf(), pid=f"RePEc:abc:wpaper:{number}"))
    folder = store.warc().parent
    for name in (".draft-4.warc", "1.warc.torn-7", "notes.txt"):
        (folder / name).write_bytes(b"")
    (folder / "loop").symlink_to(store.root / "warc")
    assert [path.name for path in store.archive.warcs()] == ["1.warc", "2.warc", "3.warc"]


def test_rebuild_of_a_paper_that_is_not_here(store: Store) -> None:
    with pytest.raises(NotHeld):
        store.archive.rebuild(store.archive.pid(PID))
    assert files(store.root / "warc") == {}


def test_adopt_moves_a_warc_to_its_place(store: Store) -> None:
    pid = store.archive.pid("RePEc:abc:wpaper:1S")
    store.put(store.fut(pdf(), pid=str(pid)))
    right, wrong = store.archive.warc_path(pid), store.warc().with_name("1S.warc")
    data = right.read_bytes()
    assert store.archive.adopt(right) == pid
    right.rename(wrong)
    with pytest.raises(BadPid):
        store.archive.pid_at(wrong)
    assert store.archive.adopt(wrong) == pid
    assert right.read_bytes() == data
    assert not wrong.exists()
    os.link(right, wrong)  # killed between the link and the unlink
    assert store.archive.adopt(wrong) == pid
    assert not wrong.exists()
    wrong.write_bytes(data)
    with pytest.raises(BadWarc, match="exists already"):
        store.archive.adopt(wrong)
    assert wrong.read_bytes() == right.read_bytes() == data


def test_adopt_refuses_what_is_no_paper_s(store: Store) -> None:
    folder = store.warc().parent
    folder.mkdir(parents=True)
    for name in ("1", "2"):
        store.put(store.fut(pdf(), pid=f"RePEc:abc:wpaper:{name}"))
    both = folder / "Both.warc"
    both.write_bytes(b"".join(path.read_bytes() for path in store.archive.warcs()))
    none = folder / "None.warc"
    none.write_bytes(b"")
    for warc, count in ((both, 2), (none, 0)):
        before = warc.read_bytes()
        with pytest.raises(BadPid, match=f"{count} Paper-Ids"):
            store.archive.adopt(warc)
        assert warc.read_bytes() == before


def test_times_are_those_of_the_answers(store: Store) -> None:
    at = datetime(2026, 1, 2, 3, 4, 5, 999_999, tzinfo=UTC)
    store.put(store.fut(pdf(), at=at))
    assert [time for _, time in cuts(store.archive)] == ["2026-01-02T03:04:05Z"]


def _without_lafka(language: str) -> str:
    """The program of *language* in the how-to page."""
    text = (ROOT / "docs" / "how-to" / "read-a-fut-without-lafka.md").read_text()
    return text.split(f"```{language}\n", 1)[1].split("```", 1)[0]


@pytest.mark.parametrize(
    ("language", "command"),
    [
        ("python", [sys.executable, "-I", "-c"]),
        ("perl", ["perl", "-e"]),
        ("sh", ["sh", "-c"]),
    ],
)
def test_reading_without_lafka(store: Store, language: str, command: list[str]) -> None:
    if not shutil.which(command[0]) or (language == "sh" and not shutil.which("jq")):
        pytest.skip(f"{language} or what it needs is not on this machine")
    for name, milliseconds in (("a", 0), ("b", 200), ("c", 300)):
        fut = store.fut(pdf(name), "gzip chunked", futli=f"http://x.example/é?{name}",
                        at=START + timedelta(milliseconds=milliseconds))  # fmt: skip
        store.put(fut)
    arguments = [str(store.root), store.archive.pid(PID).path]
    program = [*command, _without_lafka(language), *["sh"] * (language == "sh"), *arguments]
    done = subprocess.run(program, capture_output=True, check=True)
    # Each futli has a key of its own, so all three times are cut to the same second.
    assert done.stdout in (pdf("a"), pdf("b"), pdf("c"))
    store.put(store.fut(pdf("d"), at=START + timedelta(seconds=1)))
    done = subprocess.run(program, capture_output=True, check=True)
    assert done.stdout == pdf("d")
